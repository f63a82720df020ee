"""Files that are broken, foreign, too deep, too large, or not regular files."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.contract.files_by_tool import USES, Use, settle
from tests.support import SMALLEST, Client, Project, plan, pretty

BROKEN = [
    b"",
    b"\n",
    b"\x00\x00\x00\x00",
    b"{",
    b"[]",
    b"7",
    b"null",
    b'"text"',
    b"{}",
    b"{'a': 1}",
    b"\xff\xfe{\x00}\x00",
    b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> theirs\n",
    b"[" * 5000 + b"]" * 5000,
    b"{" * 100_000,
]


@pytest.mark.requirement(
    "files.broken", "files.broken-kept", "files.broken-told", "files.conflict-markers", "files.depth",
)  # fmt: skip
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
@pytest.mark.parametrize("content", BROKEN, ids=lambda c: ascii(c[:12].decode("latin-1")))
def test_broken_file_is_named_and_kept(call: Client, project: Project, use: Use, content: bytes) -> None:
    """A tool that needs a broken file fails, names it and changes nothing."""
    file, tool, arguments = use
    settle(project)
    project.put(file, content)
    message = call.refused(tool, arguments)
    assert f".nexus/{file}" in message
    assert "nothing was changed" in message


@pytest.mark.requirement("files.conflict-markers", "files.broken-told")
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
def test_conflict_markers_are_reported_with_their_line(call: Client, project: Project, use: Use) -> None:
    """Conflict markers are named as such, with their line."""
    file, tool, arguments = use
    settle(project)
    text = project.get(file).decode()
    project.put(file, text.replace("{\n", '{\n<<<<<<< HEAD\n  "x": 1,\n=======\n>>>>>>> theirs\n', 1))
    message = call.refused(tool, arguments)
    assert "conflict" in message
    assert "line 2" in message


@pytest.mark.requirement("files.kind")
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
@pytest.mark.parametrize("kind", ["folder", "full folder", "pipe", "socket"])
def test_special_file_is_refused_without_waiting(call: Client, project: Project, use: Use, kind: str) -> None:
    """A tool that needs a file refuses a special file in its place, without waiting for it."""
    file, tool, arguments = use
    settle(project)
    place = project.nexus / file
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as unix:
            os.chdir(place.parent)
            unix.bind(place.name)
    else:
        place.mkdir()
        if kind == "full folder":
            (place / "inside").write_text("kept")
    assert f".nexus/{file}" in call.refused(tool, arguments)


@pytest.mark.requirement("files.kind", "storage.no-folder")
@pytest.mark.parametrize("place", [".nexus", ".nexus/state"])
@pytest.mark.parametrize("kind", ["file", "pipe"])
@pytest.mark.parametrize(
    "tool",
    [
        "plan_start", "plan_status", "task_add", "task_list", "task_close", "artifact_write", "context",
    ],
)  # fmt: skip
def test_file_in_place_of_a_folder_is_refused(call: Client, project: Project, place: str, kind: str, tool: str) -> None:
    """Where a folder belongs nothing else is accepted or replaced."""
    from tests.support import SMALLEST

    path = project.root / place
    path.parent.mkdir(exist_ok=True)
    if kind == "file":
        path.write_text("kept")
    else:
        os.mkfifo(path)
    assert place in call.refused(tool, SMALLEST[tool])


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.requirement("files.depth")
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
@pytest.mark.parametrize("levels", [300, 990, 3000, 200_000])
def test_deeply_nested_file_is_refused(call: Client, project: Project, use: Use, levels: int) -> None:
    """An unknown member nested hundreds of levels deep refuses the file, and never the interpreter."""
    file, tool, arguments = use
    settle(project)
    text = project.get(file).decode().rstrip().removesuffix("}")
    project.put(file, f'{text}, "x": {nested(levels)}}}')
    assert f".nexus/{file}" in call.refused(tool, arguments)


@pytest.mark.requirement("files.depth", "files.unknown-kept")
def test_ordinary_depth_passes_through_everything(call: Client, project: Project) -> None:
    """The deepest nesting of a session file also passes through the journal into the history, and is read there."""
    deepest = next(n for n in range(200, 5, -1) if accepts(call, project, n))
    assert deepest >= 20
    answer = call("task_close")
    assert answer["closed"] is True
    assert call("history_search")["total"] == 1
    call("task_close")
    assert call("history_search", query="T")["total"] == 2


def accepts(call: Client, project: Project, levels: int) -> bool:
    text = pretty(plan()).decode().rstrip().removesuffix("}")
    project.put("state/plan.json", f'{text}, "x": {nested(levels)}}}')
    answer = call.app.call("plan_update", {"action": "add", "title": "A"})
    answer.confirm_delivery()
    return answer.result["isError"] is False


@pytest.mark.requirement("files.size")
@pytest.mark.parametrize(
    ("file", "tool"),
    [
        ("state/plan.json", "plan_status"), ("state/plan.json", "task_close"), ("state/tasks.json", "task_list"),
        ("state/tasks.json", "task_add"),
    ],
)  # fmt: skip
def test_session_file_beyond_64_mib_is_refused(call: Client, project: Project, file: str, tool: str) -> None:
    """A session file beyond 64 MiB is refused before it is read."""
    from tests.support import SMALLEST

    settle(project)
    os.truncate(project.nexus / file, (64 << 20) + 1)
    before = (project.nexus / file).stat()
    answer = call.app.call(tool, SMALLEST[tool])
    assert answer.result["isError"] is True
    assert f".nexus/{file}" in answer.result["structuredContent"]["error"]
    assert (project.nexus / file).stat() == before


@pytest.mark.requirement("files.newer-major", "files.version-kept")
@pytest.mark.parametrize("version", ["1.0", "1", "2.0", "10.5", "abc", "", "x.1", 7, 1.0, ["0.5"], "-1.0", "٥.0"])
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
def test_newer_version_is_read_and_not_written(call: Client, project: Project, use: Use, version: Any) -> None:
    """A file with a newer or malformed version is read and never written."""
    file, tool, arguments = use
    settle(project)
    project.put(file, {"schema_version": version, **project.json(file)})
    if tool in {"plan_status", "task_list", "history_search"}:
        assert call.send(tool, arguments)
    else:
        message = call.refused(tool, arguments)
        assert f".nexus/{file}" in message
        assert "version" in message


@pytest.mark.requirement("files.tolerated")
def test_null_version_counts_as_absent(call: Client, project: Project) -> None:
    """A schema_version of null counts as absent, and is kept."""
    settle(project)
    project.put("state/tasks.json", {"schema_version": None, **project.json("state/tasks.json")})
    call("task_add", **SMALLEST["task_add"])
    assert project.json("state/tasks.json")["schema_version"] is None
