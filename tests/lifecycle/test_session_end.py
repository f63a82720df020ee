"""session_end: its warnings, the files that it deletes, and all files that stay."""

from __future__ import annotations

import pytest

from tests.lifecycle.support import ACCESS, SPAWN, TRACKER, Teller, put
from tests.support import Json, Project, cycle, plan, task, tasks, without_lock

UNFINISHED = (
    "The session ends with unfinished work, tasks 1 (pending), 3 (in_progress). "
    "The tasks stay for the next session, and task_list shows them; if they are not to be done, task_close archives "
    "them as they are."
)
UNCLOSED = "All 2 tasks are completed, but the cycle is not closed. Call task_close to archive it."
DONE = task(2, status="completed")


@pytest.mark.requirement("session_end.clears", "session_end.access", "session_end.result")
def test_session_end_removes_the_tracker(tell: Teller, project: Project) -> None:
    """The tracker is removed and an empty record of reads created; the answer names both."""
    tell("agent_spawn", **SPAWN)
    assert tell("session_end") == {
        "event": "session_end",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "made": [ACCESS],
        "deleted": [TRACKER],
        "warnings": [],
    }
    assert (project.root / ACCESS).read_bytes() == b""
    assert not (project.root / TRACKER).exists()
    again = tell("session_end")
    assert (again["made"], again["deleted"]) == ([], [])


@pytest.mark.requirement("session_end.access")
def test_session_end_in_a_new_project_creates_the_folders(tell: Teller, project: Project) -> None:
    """Where nothing was ever written the end of a session makes the folders and the empty record."""
    tell("session_end")
    files = {path for path, content in without_lock(project.snapshot()).items() if content != "folder"}
    assert files == {".git/HEAD", ".nexus/.gitignore", ACCESS}


@pytest.mark.requirement("session_end.access")
def test_a_record_is_kept(tell: Teller, project: Project) -> None:
    """The record of reads stays unchanged, whatever it holds."""
    before = put(project, ACCESS, '{"path": "memory/a.md"')
    assert tell("session_end")["made"] == []
    assert (project.root / ACCESS).read_bytes() == before


@pytest.mark.requirement("session_end.warns", "session_end.asks")
@pytest.mark.parametrize(
    ("content", "warnings"),
    [
        (tasks(task(1), DONE, task(3, status="in_progress")), [UNFINISHED]),
        (tasks(DONE, task(4, status="completed")), [UNCLOSED]),
        (tasks(), []),
    ],
)
def test_session_end_warns_of_open_tasks(tell: Teller, project: Project, content: Json, warnings: list[str]) -> None:
    """It warns of tasks that are not completed, else asks for the close, and says nothing where there are none.

    Both warnings name task_close (contract §4).
    """
    put(project, ".nexus/state/tasks.json", content)
    assert tell("session_end")["warnings"] == warnings
    assert all("task_close" in warning for warning in warnings)


@pytest.mark.requirement("session_end.broken")
@pytest.mark.parametrize("content", ["{", {"tasks": []}])
def test_unreadable_tasks_do_not_stop_the_end(tell: Teller, project: Project, content: Json) -> None:
    """An unreadable task file causes a warning and stays unchanged, and the session ends nevertheless."""
    tell("agent_spawn", **SPAWN)
    before = put(project, ".nexus/state/tasks.json", content)
    answer = tell("session_end")
    assert [text.partition(":")[0] for text in answer["warnings"]] == ["The tasks could not be read"]
    assert answer["deleted"] == [TRACKER]
    assert project.get("state/tasks.json") == before


@pytest.mark.requirement("session_end.keeps")
def test_session_end_keeps_all_other_files(tell: Teller, project: Project) -> None:
    """History, notes, rules, plan, tasks, the tool log and the files of another harness are not touched."""
    tell("agent_spawn", **SPAWN)
    tell("agent_spawn", **SPAWN, harness_id="other")
    put(project, ".nexus/history.json", {"cycles": [cycle(plan())]})
    for name in ("memory/a.md", "context/b.md", "rules/c.md", "state/tool-log.jsonl", "state/artifacts/d"):
        put(project, f".nexus/{name}", "text")
    put(project, ".nexus/state/nexus-mcp/x.extension.json", "{}")
    put(project, ".nexus/state/plan.json", plan())
    put(project, ".nexus/state/tasks.json", tasks(DONE))
    before = without_lock(project.snapshot())
    tell("session_end")
    after = without_lock(project.snapshot())
    assert after.pop(ACCESS) == b""
    del before[TRACKER]
    assert after == before
