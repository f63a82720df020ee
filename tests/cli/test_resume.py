"""`nexus-mcp resume` prints whether to resume a task's owner, and the reason."""

from __future__ import annotations

import json

import pytest

from nexus_mcp import schemas
from nexus_mcp.cli import main
from tests.catalog.resume_rows import entry
from tests.cli.support import nexus
from tests.support import Project, task, tasks

TRACKER = "state/claude-code/agent-tracker.json"


def resume(project: Project, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["resume", "--project", str(project.root), *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def two_tasks(project: Project) -> Project:
    """Task 1 about a file that engineer e1 touched last, and task 3 with an owner that is no agent."""
    given = task(1, context="Mend src/a.py \x1b", owner="engineer")
    project.put("state/tasks.json", tasks(given, task(3, owner="bob")))
    project.put(TRACKER, [entry("e1\u202e", "engineer", f"{project.root}/src/a.py")])
    return project


def test_resume_prints_id_reason_and_files(two_tasks: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The output has the id, the reason and the files to read again, without control characters; no file changes."""
    before = two_tasks.snapshot()
    why = "its tier is bounded, the files are the same, and no other agent has edited them since"
    assert resume(two_tasks, capsys, "1", "--harness-id", "claude-code") == (
        0,
        f'resume "e1\\u202e"\nwhy: {why}\nread again first: src/a.py\n',
        "",
    )
    code, out, _ = resume(two_tasks, capsys, "1", "--harness-id", "claude-code", "--json")
    assert (code, out.isascii()) == (0, True)
    assert schemas.faults(schemas.load("catalog/resume"), json.loads(out)) == []
    assert json.loads(out) == {
        "task_id": 1,
        "owner": "engineer",
        "harness_id": "claude-code",
        "mode": "resume",
        "agent_id": "e1\u202e",
        "reason": why,
        "reread": ["src/a.py"],
    }
    assert two_tasks.snapshot() == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("1", "--harness-id", "codex"), "no earlier agent of this owner is recorded"),
        (("3", "--harness-id", "claude-code"), "its owner is no agent of the catalog"),
    ],
)
def test_fresh_is_no_failure(
    two_tasks: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    """Contract §5: no resume mechanism or no recorded id: fresh, silently. Another harness's agents are not ours."""
    assert resume(two_tasks, capsys, *words) == (0, f"fresh\nwhy: {why}\n", "")
    found = json.loads(resume(two_tasks, capsys, *words, "--json")[1])
    assert schemas.faults(schemas.load("catalog/resume"), found) == []
    assert (found["mode"], found["reread"]) == ("fresh", [])


@pytest.mark.parametrize(
    ("words", "harness", "near"),
    [
        (("--harness-id", "other"), "other", "the harnesses with a map are claude-code, codex, opencode."),
        (("--harness-id", "claudecode"), "claudecode", "did you mean claude-code?"),
    ],
)
def test_unknown_harness_is_reported_with_near_names(
    two_tasks: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], harness: str, near: str
) -> None:
    """A harness without a capability map is named, with the near name: it may be a slip that nothing is resumed."""
    code, out, err = resume(two_tasks, capsys, "1", *words)
    assert (code, out) == (0, f"fresh\nwhy: {harness} cannot resume an agent\n")
    assert err == (
        f"nexus-mcp: There is no capability map of {harness}, so no tool is refused, no edit needs a task, and no "
        f"agent is resumed; {near} Name the harness with --harness-id, or give it a map in .nexus/capability-map.yml.\n"
    )
    assert json.loads(resume(two_tasks, capsys, "1", *words, "--json")[1])["mode"] == "fresh"


def test_missing_harness_lists_known_ids(two_tasks: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --harness-id the message lists the known ids, because the default id has no map."""
    why = "--harness-id is missing, and resuming an agent needs it"
    assert resume(two_tasks, capsys, "1") == (
        0,
        f"fresh\nwhy: {why}\n",
        "nexus-mcp: --harness-id is missing, so the tools that start and resume agents are unknown. "
        "Add it with the id of your client: claude-code, codex, opencode.\n",
    )
    assert json.loads(resume(two_tasks, capsys, "1", "--json")[1])["reason"] == why
    told = "nexus-mcp: There is no capability map of nexus-mcp, "
    assert resume(two_tasks, capsys, "1", "--harness-id", "nexus-mcp")[2].startswith(told)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("2",), 1, "There is no task 2. The tasks are 1, 3."),
        (("one",), 2, "TASK-ID needs a number from 1, not 'one'."),
        (("9" * 5000,), 2, "TASK-ID needs a number from 1 to 999999999999999, not '9999"),
        ((), 2, "nexus-mcp resume needs an argument TASK-ID."),
    ],
)
def test_unknown_task_is_refused_with_the_known_ids(
    two_tasks: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, told: str
) -> None:
    """Bad input: the tasks there are."""
    found, out, err = resume(two_tasks, capsys, *words)
    assert (found, out, err[: len(told) + 11]) == (code, "", f"nexus-mcp: {told}")


def test_project_without_tasks_is_refused(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A project without a list, and one with an empty list."""
    told = "nexus-mcp: There is no task 1: this project has none now. task_add adds them.\n"
    assert resume(project, capsys, "1") == (1, "", told)
    project.put("state/tasks.json", tasks())
    assert resume(project, capsys, "1") == (1, "", told)


def test_broken_tracker_is_refused_and_kept(two_tasks: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad input: a tracker edited by hand is named with its fault, and stays unchanged."""
    two_tasks.put(TRACKER, '[{"agent_id": "e1"}]')
    before = two_tasks.snapshot()
    code, out, err = resume(two_tasks, capsys, "1", "--harness-id", "claude-code")
    assert (code, out) == (1, "")
    assert err.startswith(f"nexus-mcp: .nexus/{TRACKER} is not a valid agent-tracker file: /0/harness_id is required")
    assert two_tasks.snapshot() == before


def test_edit_of_the_main_session_prevents_a_resume(two_tasks: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A logged edit of the main session counts; a broken line of the log is reported and skipped."""
    words = ("hook", "post_tool_use", "--project", str(two_tasks.root), "--harness-id", "claude-code")
    for tool, mode in (("Read", "resume"), ("Edit", "fresh")):
        payload = {"tool": tool, "tool_input": {"file_path": f"{two_tasks.root}/src/a.py"}}
        assert nexus(*words, stdin=json.dumps(payload)).code == 0
        code, out, err = resume(two_tasks, capsys, "1", "--harness-id", "claude-code", "--json")
        assert (code, json.loads(out)["mode"], err) == (0, mode, "")
    assert json.loads(out)["reason"] == 'the main session may have edited src/a.py since "e1\\u202e" did'
    two_tasks.put("state/tool-log.jsonl", "{broken\n")
    code, out, err = resume(two_tasks, capsys, "1", "--harness-id", "claude-code")
    told = "nexus-mcp: .nexus/state/tool-log.jsonl has 1 unreadable line; they are ignored.\n"
    assert (code, out.partition(" ")[0], err) == (0, "resume", told)


def test_spoilt_entry_does_not_hide_the_other_agents(two_tasks: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A malformed entry does not affect the others; a tracker without a readable entry is reported."""
    spoilt = {**entry("x1", "writer"), "status": "resting"}
    two_tasks.put(TRACKER, [entry("e1", "engineer", "src/a.py"), spoilt])
    code, out, err = resume(two_tasks, capsys, "1", "--harness-id", "claude-code")
    assert (code, out.split("\n")[0]) == (0, "resume e1")
    assert err.startswith(f"nexus-mcp: .nexus/{TRACKER} is not a valid agent-tracker file: /1/status ")
    assert err.endswith("; agents that cannot be read are not counted.\n")
    two_tasks.put(TRACKER, [spoilt])
    assert resume(two_tasks, capsys, "1", "--harness-id", "claude-code")[:2] == (1, "")
