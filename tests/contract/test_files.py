"""How state files are read: what is accepted, what is refused, and what stays."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import Client, Clock, Project, cycle, issue, plan, pretty, task, tasks

PLAN_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("plan_start", {"topic": "T", "issues": [], "research_summary": "s"}),
    ("plan_status", {}),
    ("plan_update", {"action": "add", "title": "A"}),
    ("plan_decide", {"issue_id": 1, "decision": "d"}),
    ("task_close", {}),
]
TASK_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("task_add", {"title": "T", "context": "C"}),
    ("task_list", {}),
    ("task_update", {"id": 1, "status": "completed"}),
    ("task_close", {}),
]
HISTORY_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("plan_start", {"topic": "T", "issues": [], "research_summary": "s"}),
    ("task_close", {}),
    ("history_search", {}),
    ("history_search", {"query": "a"}),
]
FILES = {"state/plan.json": PLAN_TOOLS, "state/tasks.json": TASK_TOOLS, "history.json": HISTORY_TOOLS}
USES = [(file, tool, arguments) for file, tools in FILES.items() for tool, arguments in tools]
Use = tuple[str, str, dict[str, Any]]


def settle(project: Project) -> None:
    project.put("history.json", {"cycles": [{"branch": "a"}]})
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))


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
def test_broken_files(call: Client, project: Project, use: Use, content: bytes) -> None:
    """Whoever needs a broken file fails, names it and changes nothing."""
    file, tool, arguments = use
    settle(project)
    project.put(file, content)
    message = call.refused(tool, arguments)
    assert f".nexus/{file}" in message
    assert "nothing was changed" in message


@pytest.mark.requirement("files.conflict-markers", "files.broken-told")
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
def test_conflict_markers(call: Client, project: Project, use: Use) -> None:
    """Conflict markers are told for what they are, with their line."""
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
def test_kinds(call: Client, project: Project, use: Use, kind: str) -> None:
    """What is no plain file is refused by whoever needs it, without waiting for it."""
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
def test_a_file_in_place_of_a_folder(call: Client, project: Project, place: str, kind: str, tool: str) -> None:
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
def test_depth(call: Client, project: Project, use: Use, levels: int) -> None:
    """An unknown member nested hundreds of levels deep refuses the file, and never the interpreter."""
    file, tool, arguments = use
    settle(project)
    text = project.get(file).decode().rstrip().removesuffix("}")
    project.put(file, f'{text}, "x": {nested(levels)}}}')
    assert f".nexus/{file}" in call.refused(tool, arguments)


@pytest.mark.requirement("files.depth", "files.unknown-kept")
def test_ordinary_depth_passes_through_everything(call: Client, project: Project) -> None:
    """What a session file may nest also passes through the journal into the history, and is read there."""
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
    answer.delivered()
    return answer.result["isError"] is False


@pytest.mark.requirement("files.size")
@pytest.mark.parametrize(
    ("file", "tool"),
    [
        ("state/plan.json", "plan_status"), ("state/plan.json", "task_close"), ("state/tasks.json", "task_list"),
        ("state/tasks.json", "task_add"),
    ],
)  # fmt: skip
def test_size(call: Client, project: Project, file: str, tool: str) -> None:
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
@pytest.mark.parametrize("version", ["1.0", "1", "2.0", "10.5", "abc", "", "x.1", 7, 1.0, None, ["0.5"], "-1.0", "٥.0"])
@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use[0]} {use[1]}")
def test_newer_versions(call: Client, project: Project, use: Use, version: Any) -> None:
    """A file of a newer major, or of a version that says nothing, is read and never written."""
    file, tool, arguments = use
    settle(project)
    project.put(file, {"schema_version": version, **project.json(file)})
    if tool in {"plan_status", "task_list", "history_search"}:
        assert call.send(tool, arguments)
    else:
        message = call.refused(tool, arguments)
        assert f".nexus/{file}" in message
        assert "version" in message


@pytest.mark.requirement("files.surrogates", "files.unknown-kept")
def test_lone_surrogates_in_session_files(call: Client, project: Project, clock: Clock) -> None:
    """Half a character stays an escape in files, through every rewrite, and never leaves in an answer."""
    text = (
        pretty(plan(issues=[issue(1, "t@1")], topic="a@2")).decode().replace("@1", "\\ud800").replace("@2", "\\uDFFF x")
    )
    project.put("state/plan.json", text)
    project.put("state/tasks.json", pretty(tasks(task(1, "x@"), goal="@")).decode().replace("@", "\\udead"))
    assert call("plan_status")["topic"] == "a\ufffd x"
    assert call("plan_decide", issue_id=1, decision="d")["issue"] == "t\ufffd"
    assert b'"a\\udfff x"' in project.get("state/plan.json")
    assert call("task_list")["goal"] == "\ufffd"
    assert call("task_update", id=1, status="completed")["task"]["title"] == "x\ufffd"
    assert project.get("state/tasks.json").count(b'\\udead"') == 2
    answer = call("task_close")
    assert answer["memoryHint"]["cycleTopics"] == ["a\ufffd x", "\ufffd"]
    content = project.get("history.json")
    assert b'"a\\udfff x"' in content
    assert b'"x\\udead"' in content
    assert call("history_search")["cycles"] == [
        {
            "completed_at": clock.stamp(),
            "branch": "main",
            "topic": "a\ufffd x",
            "decisions": [{"title": "t\ufffd", "decision": "d"}],
            "task_count": 1,
        }
    ]
    call("task_close")
    assert project.get("history.json").startswith(content.removesuffix(b"\n  ]\n}\n"))


@pytest.mark.requirement("files.timestamps")
def test_timestamps(call: Client, project: Project, clock: Clock) -> None:
    """Plan, task and cycle are stamped in UTC with three decimals."""
    clock.ms = 1_709_164_800_000  # 29 February 2024, midnight
    call("plan_start", topic="T", issues=[], research_summary="s")
    clock.advance(7 * 125)
    call("task_add", title="T", context="C")
    clock.advance(125)
    answer = call("task_close")
    (only,) = project.json("history.json")["cycles"]
    assert only["plan"]["created_at"] == "2024-02-29T00:00:00.000Z"
    assert only["tasks"][0]["created_at"] == "2024-02-29T00:00:00.875Z"
    assert only["completed_at"] == answer["cycle"] == "2024-02-29T00:00:01.000Z"


@pytest.mark.requirement("files.timestamps")
def test_the_clock_of_the_system(project: Project) -> None:
    """Without a clock of the test's own the time is that of the system, in UTC wherever we are."""
    import time

    from nexus_mcp.server.app import App
    from nexus_mcp.workspace import Workspace
    from tests.support import stamp

    before = int(time.time() * 1000)
    client = Client(App(Workspace(str(project.root))), project)
    made = client("task_add", title="T", context="C")["task"]["created_at"]
    after = int(time.time() * 1000) + 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", made)
    assert stamp(before) <= made <= stamp(after)


NUMBERS = [
    "1e400", "-1e400", "9" * 5000, "12345678901234567890", "1.0", "1e5", "0.1", "-0", "-0.0", "1E-7",
    "123456789.123456789e3", "1" + "0" * 400 + ".5",
]  # fmt: skip


@pytest.mark.requirement("files.unknown-kept", "files.broken-kept")
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: n[:12])
def test_numbers_we_do_not_know(call: Client, project: Project, number: str) -> None:
    """A number in an unknown member keeps its value through a rewrite, or the rewrite is refused."""
    from decimal import Decimal

    text = pretty(plan()).decode().rstrip().removesuffix("}")
    project.put("state/plan.json", f'{text}, "x": {number}}}')
    before = project.get("state/plan.json")
    answer = call.app.call("plan_update", {"action": "add", "title": "A"})
    answer.delivered()
    after = project.get("state/plan.json")
    if answer.result["isError"]:
        assert after == before
    else:
        found = re.search(rb'"x": (\S+)\n', after)
        assert found
        kept = found[1].decode()
        assert Decimal(kept) == Decimal(number) or float(kept) == float(number) != float("inf")


@pytest.mark.requirement("files.absent", "files.closed")
def test_no_null_is_written(call: Client, project: Project) -> None:
    """After a whole cycle no file of ours has a null, but for a cycle without a plan."""
    call("plan_start", topic="T", issues=["A"], research_summary="")
    call("plan_decide", issue_id=1, decision="", how_agents=None)
    call("task_add", title="T", context="C", owner=None)
    assert b"null" not in project.get("state/plan.json") + project.get("state/tasks.json")
    call("task_close")
    assert b"null" not in project.get("history.json")


@pytest.mark.requirement("files.closed", "plan.schema", "tasks.schema", "history.schema")
def test_files_keep_their_schemas(
    call: Client, project: Project, schema_errors: Callable[[str, Any], list[str]]
) -> None:
    """What the tools write is valid against the published schemas."""
    call("plan_start", topic="T", issues=["A", "B"], research_summary="")
    call("plan_decide", issue_id=1, decision="d", how_agents=["a"], how_summary={"a": "b"}, how_agent_ids={"a": "c"})
    call("task_add", title="T", context="C", deps=[3], owner="o", plan_issue=1, decisions=["d"])
    assert schema_errors("plan", project.json("state/plan.json")) == []
    assert schema_errors("tasks", project.json("state/tasks.json")) == []
    call("task_close")
    call("task_close")
    assert schema_errors("history", project.json("history.json")) == []
    assert [len(c) for c in project.json("history.json")["cycles"]] == [5, 5]
    assert project.json("history.json")["cycles"][1] == {
        **cycle(at=project.json("history.json")["cycles"][1]["completed_at"])
    }
