"""agent_spawn, agent_resume and agent_complete: their files, answers and warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nexus_mcp.briefing.compose import limits_text
from nexus_mcp.catalog.load import load
from tests.lifecycle.support import SPAWN, TRACKER, UNMAPPED, Teller, entry, put, stored
from tests.support import Clock, Project, compact, task, tasks, without_lock

UNKNOWN = (
    'No agent "a9" is in the tracker of nexus-mcp, so nothing was recorded. Send agent_spawn when an agent begins.'
)
ENGINEER = limits_text(load(None), "engineer", "nexus-mcp")


@pytest.mark.requirement("agent_spawn.appends", "agent_spawn.result", "tree.first-write")
def test_spawn_adds_a_running_agent(tell: Teller, project: Project, clock: Clock) -> None:
    """A spawn creates the tracker and appends a running agent; the answer says that it is no resume."""
    answer = tell("agent_spawn", **SPAWN)
    assert answer == {
        "event": "agent_spawn",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "context": ENGINEER,
        "agent_id": "a1",
        "resumed": False,
        "capabilities": ["no_task_create"],
        "disallowed_tools": [],
        "warnings": [UNMAPPED],
    }
    assert stored(project, entry(at=clock.stamp()))
    assert project.get(".gitignore") == b"state/\n"
    clock.advance()
    tell("agent_spawn", agent_name="tester", agent_id="a2")
    assert stored(project, entry(at=clock.stamp(-125)), entry("a2", at=clock.stamp(), agent_name="tester"))


@pytest.mark.requirement("agent_spawn.again", "agent_resume.counts")
def test_second_spawn_resumes_the_agent(tell: Teller, project: Project, clock: Clock) -> None:
    """A spawn with an id that is tracked already resumes that agent and keeps its name."""
    started = clock.stamp()
    tell("agent_spawn", **SPAWN)
    clock.advance()
    answer = tell("agent_spawn", agent_name="tester", agent_id="a1")
    assert answer["resumed"] is True
    assert stored(project, entry(at=started, last_resumed_at=clock.stamp(), resume_count=1))


@pytest.mark.requirement("agent_resume.counts", "agent_resume.result")
def test_resume_counts_and_keeps_completion(tell: Teller, project: Project, clock: Clock) -> None:
    """A resume marks the agent as running, counts the resume and stores the time; the fields of its completion stay."""
    started = clock.stamp()
    tell("agent_spawn", **SPAWN)
    tell("agent_complete", agent_id="a1", last_message="done", files_touched=["a.py"])
    for _ in range(2):
        clock.advance()
        answer = tell("agent_resume", agent_id="a1")
    assert answer == {
        "event": "agent_resume",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "agent_id": "a1",
        "resumed": True,
        "warnings": [],
    }
    ended: dict[str, Any] = {"stopped_at": started, "last_message": "done", "files_touched": ["a.py"]}
    assert stored(project, entry(at=started, last_resumed_at=clock.stamp(), resume_count=2, **ended))


@pytest.mark.requirement("agent_complete.marks", "agent_complete.result")
@pytest.mark.parametrize(
    "told",
    [
        {},
        {"last_message": ""},
        {"last_message": "Fertig: größer", "files_touched": []},
        {"files_touched": ["b", "a", "b"]},
    ],
)
def test_complete_stores_time_and_message(tell: Teller, project: Project, clock: Clock, told: dict[str, Any]) -> None:
    """A completion stores its time and the sent fields unchanged; fields that were not sent are absent."""
    started = clock.stamp()
    tell("agent_spawn", **SPAWN)
    tell("agent_spawn", agent_name="tester", agent_id="a2")
    clock.advance()
    answer = tell("agent_complete", agent_id="a1", **told)
    files = {name: value for name, value in told.items() if name == "files_touched"}
    assert answer == {
        "event": "agent_complete",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "agent_id": "a1",
        "completed": True,
        **files,
        "warnings": [],
    }
    assert stored(
        project,
        entry(at=started, status="completed", stopped_at=clock.stamp(), **told),
        entry("a2", at=started, agent_name="tester"),
    )


@pytest.mark.requirement("agent_complete.files")
def test_missing_files_are_taken_from_the_log(tell: Teller, project: Project, clock: Clock) -> None:
    """Without files in the params they are the distinct ones that the log has for the agent; bad lines are counted."""
    tell("agent_spawn", **SPAWN)
    lines = [
        {"agent_id": "a1", "tool": "Edit", "file": "b.py"},
        {"agent_id": "a2", "tool": "Edit", "file": "x.py"},
        {"agent_id": "a1", "tool": "Bash"},
        {"agent_id": "a1", "tool": "Edit", "file": "é.py"},
        {"agent_id": "a1", "tool": "Edit", "file": "b.py"},
        {"agent_id": "a1", "tool": "Edit", "file": 5},
    ]
    text = "\n".join([*map(compact, lines), "[]", "", '{"agent_id": "a1", "file": "tor'])
    log = put(project, ".nexus/state/tool-log.jsonl", text)
    answer = tell("agent_complete", agent_id="a1")
    assert answer["files_touched"] == ["b.py", "é.py"]
    assert answer["warnings"] == [".nexus/state/tool-log.jsonl has 2 unreadable lines; only the other lines count."]
    found = entry(at=clock.stamp(), status="completed", stopped_at=clock.stamp(), files_touched=["b.py", "é.py"])
    assert stored(project, found)
    assert project.get("state/tool-log.jsonl") == log


@pytest.mark.requirement("agent_complete.files")
def test_files_in_the_params_win_over_the_log(tell: Teller, project: Project) -> None:
    """Files in the params are stored unchanged, and the log is not read."""
    tell("agent_spawn", **SPAWN)
    put(project, ".nexus/state/tool-log.jsonl", "garbage")
    answer = tell("agent_complete", agent_id="a1", files_touched=["z"])
    assert (answer["files_touched"], answer["warnings"]) == (["z"], [])


@pytest.mark.requirement("agent_complete.files")
def test_agent_absent_from_the_log_touched_no_files(tell: Teller, project: Project) -> None:
    """An agent without a line in the log has touched no files; without a log the files stay unknown."""
    tell("agent_spawn", **SPAWN)
    assert "files_touched" not in tell("agent_complete", agent_id="a1")
    put(project, ".nexus/state/tool-log.jsonl", compact({"agent_id": "a2", "file": "x"}) + "\n")
    assert tell("agent_complete", agent_id="a1")["files_touched"] == []


@pytest.mark.requirement("agent_complete.warns")
def test_completion_warns_of_own_tasks(tell: Teller, project: Project) -> None:
    """A completion warns about the agent's own tasks only, and names those that waited for another task."""
    tell("agent_spawn", **SPAWN)
    before = put(
        project,
        ".nexus/state/tasks.json",
        tasks(
            task(1, owner="engineer"),
            task(2, owner="engineer", status="completed"),
            task(3, owner="tester", status="in_progress"),
            task(4, owner_agent_id="a1", status="in_progress"),
            task(5),
            task(6, owner="engineer", deps=[1]),
            task(7, owner="engineer", deps=[9]),
            task(8, owner="engineer", deps=[1], status="in_progress"),
            task(10, owner="engineer", deps=[2]),
        ),
    )
    answer = tell("agent_complete", agent_id="a1")
    assert answer["warnings"] == [
        "engineer has ended, but tasks of its own are not done: tasks 1 (pending), 4 (in_progress), 8 (in_progress), "
        "10 (pending). Let a tester check those that are finished, and set them to completed with task_update when "
        "they pass; choose an agent for the others.",
        "engineer has ended, and tasks of its own still wait for others: tasks 6 (pending), 7 (pending). "
        "Choose an agent for them when they are ready.",
    ]
    assert project.get("state/tasks.json") == before


@pytest.mark.requirement("agent_complete.warns")
def test_unreadable_tasks_do_not_stop_a_completion(tell: Teller, project: Project, clock: Clock) -> None:
    """A task file that cannot be read is worth a warning, and the agent is completed all the same."""
    tell("agent_spawn", **SPAWN)
    before = put(project, ".nexus/state/tasks.json", "{")
    answer = tell("agent_complete", agent_id="a1")
    assert len(answer["warnings"]) == 1
    assert answer["warnings"][0].startswith("The tasks could not be read: .nexus/state/tasks.json (line 1, ")
    assert stored(project, entry(at=clock.stamp(), status="completed", stopped_at=clock.stamp()))
    assert project.get("state/tasks.json") == before


@pytest.mark.requirement("agents.unknown")
@pytest.mark.parametrize(("event", "member"), [("agent_resume", "resumed"), ("agent_complete", "completed")])
def test_untracked_agent_is_a_warning(tell: Teller, project: Project, event: str, member: str) -> None:
    """An agent that is not tracked causes a warning; no file and no folder is created."""
    expected = {
        "event": event,
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "agent_id": "a9",
        member: False,
        "warnings": [UNKNOWN],
    }
    before = project.snapshot()
    assert tell(event, agent_id="a9") == expected
    assert project.snapshot() == before
    tell("agent_spawn", **SPAWN)
    put(project, ".nexus/state/tool-log.jsonl", "garbage")
    put(project, ".nexus/state/tasks.json", "{")
    before = project.snapshot()
    assert tell(event, agent_id="a9") == expected
    assert project.snapshot() == before


@pytest.mark.requirement("agents.harness-id", "harness.own-folder")
def test_params_override_the_harness(tell: Teller, project: Project, clock: Clock) -> None:
    """The harness that the params name wins, and the folder of the other is not touched."""
    tell("agent_spawn", **SPAWN)
    before = without_lock(project.snapshot())
    answer = tell("agent_spawn", **SPAWN, harness_id="claude-code")
    assert answer["harness_id"] == "claude-code"
    after = without_lock(project.snapshot())
    own = ".nexus/state/claude-code"
    assert set(after) - set(before) == {own, f"{own}/agent-tracker.json"}
    assert {path: after[path] for path in before} == before
    assert project.json("state/claude-code/agent-tracker.json") == [entry(at=clock.stamp(), harness_id="claude-code")]


@pytest.mark.requirement("agents.kept", "files.unknown-kept")
def test_foreign_entries_are_kept(
    tell: Teller, project: Project, clock: Clock, schema_errors: Callable[[str, Any], list[str]]
) -> None:
    """Foreign entries stay, with unknown fields; an odd optional count is no fault and starts again at one."""
    foreign = {"note": {"é": 1}, "harness_id": "other", "started_at": "", "agent_id": 5, "status": "running"}
    odd = {"harness_id": "nexus-mcp", "started_at": "x", "agent_id": "a1", "resume_count": "many", "later": None}
    put(project, TRACKER, [foreign, odd, {**odd, "resume_count": 2.0}])
    tell("agent_resume", agent_id="a1")
    known = {"harness_id": "other", "started_at": "", "agent_id": 5, "status": "running", "note": {"é": 1}}
    resumed = {
        "harness_id": "nexus-mcp",
        "started_at": "x",
        "agent_id": "a1",
        "last_resumed_at": clock.stamp(),
        "resume_count": 3,
        "status": "running",
        "later": None,
    }
    assert stored(project, known, odd, resumed)
    tell("agent_spawn", agent_name="tester", agent_id="a2")
    assert schema_errors("agent-tracker", project.json("state/nexus-mcp/agent-tracker.json")[3:]) == []
