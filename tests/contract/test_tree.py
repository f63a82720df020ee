"""The places of files below .nexus, and the files that no tool touches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import git
from tests.support import LOCK, NAMES, OPLOG, READ_ONLY, SMALLEST, Client, Project, plan, task, tasks

FIRST_WRITERS = ("plan_start", "task_add", "task_close", "artifact_write")
MADE = {
    "plan_start": [".nexus/state/plan.json"],
    "task_add": [".nexus/state/tasks.json"],
    "task_close": [".nexus/history.json"],
    "artifact_write": [".nexus/state/artifacts/note.md"],
}


def files(project: Project) -> list[str]:
    return sorted(
        path
        for path, content in project.snapshot().items()
        if content != "folder" and path != LOCK and not path.startswith(".git/")
    )


@pytest.mark.requirement("tree.first-write", "tree.gitignore", "tree.places", "harness.own-folder")
@pytest.mark.parametrize("tool", FIRST_WRITERS)
def test_first_write_creates_only_its_own_files(call: Client, project: Project, tool: str) -> None:
    """The first write makes .nexus, its .gitignore, its own file and the operation log, and nothing else."""
    call.send(tool, SMALLEST[tool])
    assert files(project) == sorted([".nexus/.gitignore", OPLOG, *MADE[tool]])
    assert project.get(".gitignore") == b"state/\n"


@pytest.mark.requirement("tree.first-write", "tree.gitignore")
@pytest.mark.parametrize("tool", FIRST_WRITERS)
def test_existing_nexus_gets_its_gitignore(call: Client, project: Project, tool: str) -> None:
    """An empty .nexus, or one with notes only, gets its .gitignore too."""
    project.put("memory/note.md", b"n")
    call.send(tool, SMALLEST[tool])
    assert project.get(".gitignore") == b"state/\n"


@pytest.mark.requirement("tree.tracked", "tree.gitignore")
def test_git_sees_history_and_notes_only(client_for: Callable[[Project], Client], real_repository: Project) -> None:
    """Git would track the history, the notes and the .gitignore, and ignores all of the state."""
    client = client_for(real_repository)
    real_repository.put("memory/note.md", b"n")
    for tool in FIRST_WRITERS:
        client.send(tool, SMALLEST[tool])
    client.send("task_add", SMALLEST["task_add"])
    untracked = git(real_repository.root, "ls-files", "--others", "--exclude-standard").split()
    assert sorted(untracked) == [".nexus/.gitignore", ".nexus/history.json", ".nexus/memory/note.md"]


@pytest.mark.requirement("tree.gitignore-kept")
@pytest.mark.parametrize("tool", FIRST_WRITERS)
@pytest.mark.parametrize("content", [b"", b"state/\r\nmine\r\n", b"*\n!history.json", b"\xff\x00"])
def test_a_gitignore_is_kept(call: Client, project: Project, tool: str, content: bytes) -> None:
    """An existing .gitignore is not touched."""
    project.put(".gitignore", content)
    call.send(tool, SMALLEST[tool])
    assert project.get(".gitignore") == content


@pytest.mark.requirement("tree.reads")
@pytest.mark.parametrize("tool", sorted(READ_ONLY))
@pytest.mark.parametrize("there", ["nothing", ".nexus", ".nexus/state"])
def test_reading_tools_create_no_file(call: Client, project: Project, tool: str, there: str) -> None:
    """Reading tools change no file and no folder in an empty or incomplete project."""
    if there != "nothing":
        (project.root / there).mkdir(parents=True)
    before = project.snapshot()
    call.send(tool, SMALLEST[tool])
    assert project.snapshot() == before


@pytest.mark.requirement("tree.reads")
@pytest.mark.parametrize("tool", sorted(READ_ONLY))
def test_reading_tools_change_neither_bytes_nor_times(call: Client, project: Project, tool: str) -> None:
    """Reading tools change neither the bytes nor the times of files."""
    paths = [
        project.put("state/plan.json", plan()),
        project.put("state/tasks.json", tasks(task(1))),
        project.put("history.json", {"cycles": [{}]}),
    ]
    for path in paths:
        os.utime(path, ns=(1, 1))
    before = project.snapshot()
    call.send(tool, SMALLEST[tool])
    assert project.snapshot() == before
    assert [path.stat().st_mtime_ns for path in paths] == [1, 1, 1]


@pytest.mark.requirement("tree.reads")
@pytest.mark.parametrize("tool", sorted(READ_ONLY))
def test_reads_need_no_permission_to_write(
    call: Client, project: Project, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """Reading opens nothing for writing and makes nothing, so that a read-only disk is no hindrance."""
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))
    project.put("history.json", {"cycles": [{}]})
    real = os.open

    def read_only(path: Any, flags: int, *more: Any, **keywords: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *more, **keywords)

    monkeypatch.setattr(os, "open", read_only)
    call.send(tool, SMALLEST[tool])


@pytest.mark.requirement("tree.places", "tree.knowledge", "tree.outside", "harness.own-folder")
def test_a_whole_cycle_touches_its_own_files_only(call: Client, project: Project, tmp_path: Path) -> None:
    """All tools together create only the contract's files and our log; all other files stay unchanged."""
    for path in (
        "memory/a.md",
        "context/b.md",
        "rules/c.md",
        "state/tool-log.jsonl",
        "state/claude/agent-tracker.json",
    ):
        project.put(path, b"kept\r\n")
    (project.root / "src.py").write_bytes(b"code")
    before = project.snapshot()
    outside = sorted(os.listdir(tmp_path))
    call("plan_start", topic="T", issues=["A"], research_summary="s")
    call("plan_update", action="add", title="B")
    call("plan_decide", issue_id=1, decision="d")
    call("task_add", title="T", context="C")
    call("task_update", id=1, status="completed")
    call("artifact_write", filename="d/x", content="c")
    for tool in READ_ONLY:
        call(tool)
    call("plan_start", topic="T2", issues=[], research_summary="s")
    call("task_close")
    after = project.snapshot()
    assert {path: after[path] for path in before} == before
    assert sorted(set(after) - set(before) - {LOCK}) == [
        ".nexus/.gitignore",
        ".nexus/history.json",
        ".nexus/state/artifacts",
        ".nexus/state/artifacts/d",
        ".nexus/state/artifacts/d/x",
        OPLOG,
    ]
    assert sorted(os.listdir(tmp_path)) == outside


@pytest.mark.requirement("tree.outside", "root.resolved")
def test_linked_project_path_is_resolved(project: Project, tmp_path: Path, make_app: Callable[..., Any]) -> None:
    """Through a linked project path the real folder is written and answered."""
    from nexus_mcp.workspace import find_root

    link = tmp_path / "link"
    link.symlink_to(project.root)
    root = find_root(str(link), {}, "/")
    assert root == str(project.root)
    client = Client(make_app(Path(root)), project)
    answer = client("artifact_write", filename="x", content="c")
    assert answer == {"success": True, "path": str(project.root / ".nexus/state/artifacts/x")}


LINKS = [
    (".nexus", NAMES),
    (".nexus/state", tuple(n for n in NAMES if n != "history_search")),
    (".nexus/state/plan.json", ("plan_start", "plan_status", "plan_update", "plan_decide", "task_close")),
    (".nexus/state/tasks.json", ("task_add", "task_list", "task_update", "task_close")),
    (".nexus/history.json", ("plan_start", "task_close", "history_search")),
]


@pytest.mark.requirement("links.refused")
@pytest.mark.parametrize("use", [(link, tool) for link, tools in LINKS for tool in tools], ids=" ".join)
@pytest.mark.parametrize("kind", ["inside", "outside", "dangling"])
def test_link_in_the_tree_is_refused(
    call: Client, project: Project, tmp_path: Path, use: tuple[str, str], kind: str
) -> None:
    """Each tool that needs a file or folder refuses a link in its place, even one with a valid target."""
    link, tool = use
    project.put("history.json", {"cycles": [{"branch": "SECRET"}]})
    project.put("state/plan.json", plan(topic="SECRET"))
    project.put("state/tasks.json", tasks(task(1), goal="SECRET"))
    place = project.root / link
    behind = (project.root if kind == "inside" else tmp_path) / "behind"
    place.rename(behind)
    if kind == "dangling":
        place.symlink_to(tmp_path / "nowhere")
    else:
        place.symlink_to(os.path.relpath(behind, place.parent) if kind == "inside" else behind)
    message = call.refused(tool, SMALLEST[tool])
    assert "SECRET" not in message
    assert link in message
    assert "link" in message.lower()


@pytest.mark.requirement("links.refused")
@pytest.mark.parametrize("tool", FIRST_WRITERS)
def test_linked_gitignore_is_not_written(call: Client, project: Project, tmp_path: Path, tool: str) -> None:
    """Nothing is written through a planted .gitignore."""
    target = tmp_path / "target"
    project.nexus.mkdir()
    (project.nexus / ".gitignore").symlink_to(target)
    answer = call.app.call(tool, SMALLEST[tool])
    answer.confirm_delivery()
    assert not target.exists()
    assert (project.nexus / ".gitignore").is_symlink()


@pytest.mark.requirement("links.refused", "context.broken")
def test_linked_task_file_is_not_read(call: Client, project: Project, tmp_path: Path) -> None:
    """A linked task file is refused or answered as absent, but its content never shows."""
    target = tmp_path / "target"
    target.write_text('{"goal":"SECRET","decisions":["SECRET"],"tasks":[]}')
    project.state.mkdir(parents=True)
    (project.state / "tasks.json").symlink_to(target)
    answer = call.app.call("context", {})
    assert "SECRET" not in str(answer.result)


@pytest.mark.requirement("branch.no-process")
def test_no_process_is_started(call: Client, project: Project) -> None:
    """A whole cycle starts no process."""
    started: list[str] = []
    armed = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if armed and event in {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"}:
            started.append(event)

    sys.addaudithook(hook)
    try:
        for tool in NAMES:
            call.app.call(tool, SMALLEST[tool]).confirm_delivery()
    finally:
        armed = False
    assert started == []
