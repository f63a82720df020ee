"""A hook answers by its deadline, from the data read so far, while stdin stays open or something hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from nexus_mcp.lifecycle.deadline import NOT_IN_TIME, Deadline, is_over, last_answer
from tests.cli.support import CHECKOUT, LIMIT, environment
from tests.lifecycle.hooks import ANSWERED
from tests.support import Project, compact

SHORT = "deadline.WALL_S = 0.2"
PATIENT = "deadline.LAST_S = 30.0"  # for the answer, however busy the machine is
HANGS = "import nexus_mcp.catalog.load as load; load.usable = lambda *_: time.sleep(600)"
BUSY = """
import nexus_mcp.catalog.load as load
def usable(*_):
    while True:
        pass
load.usable = usable
"""
SPENT = "deadline.READING_CPU_S = -1.0"


def hook(project: Project, event: str, stdin: bytes, *before: str, closes: bool = True) -> dict[str, Any]:
    """The answer of a hook that runs after `before`; its stdin stays open unless it `closes`."""
    lines = ("import sys, time", "from nexus_mcp.lifecycle import deadline", *before, "from nexus_mcp.cli import main")
    words = ["hook", event, "--project", str(project.root), "--harness-id", "claude-code"]
    code = "\n".join([*lines, f"sys.argv = ['nexus-mcp', *{words!r}]", "sys.exit(main(sys.argv[1:]))"])
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=CHECKOUT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.flush()
        if closes:
            process.stdin.close()
        data = process.stdout.read()
        assert process.wait(LIMIT) == 0
    answer: dict[str, Any] = json.loads(data)
    ANSWERED.validate(answer)
    return answer


def told(tool: str, **params: object) -> bytes:
    return compact({"tool": tool, **params}).encode()


def test_open_pipe_after_a_whole_payload_is_answered(project: Project) -> None:
    """A payload that is whole is answered as if the pipe had been closed."""
    answer = hook(project, "pre_tool_use", told("Write", agent_name="architect"), closes=False)
    assert answer["decision"] == "deny"
    assert answer["warnings"] == []


@pytest.mark.parametrize(
    ("stdin", "decision"),
    [
        (b"", "deny"),
        (b'{"tool":"Write","agent_name":"archi', "deny"),
        (b'{"tool":"Write","agent_name":"architect","tool_input":{"x":"', "deny"),
        (b'{"agent_name":"architect","tool_input":{"x":"', "deny"),
        (b'{"tool":"Read","agent_name":"architect","tool_input":{"x":"', "continue"),
    ],
)
def test_endless_payload_is_answered_at_the_deadline(project: Project, stdin: bytes, decision: str) -> None:
    """At the deadline the received part of the payload decides; an agent that it does not name may be any."""
    project.put("state/tasks.json", compact({"goal": "", "decisions": [], "tasks": []}))
    answer = hook(project, "pre_tool_use", stdin, SHORT, PATIENT, closes=False)
    assert answer["decision"] == decision
    assert NOT_IN_TIME in answer["warnings"][0]


@pytest.mark.parametrize("before", [(SHORT, HANGS), (BUSY,)])
@pytest.mark.parametrize(
    ("params", "decision"),
    [({"agent_name": "engineer"}, "deny"), ({"agent_id": "a1"}, "deny"), ({}, "block")],
)
def test_unreadable_restrictions_deny_agents_and_block_the_session(
    project: Project, before: tuple[str, ...], params: dict[str, str], decision: str
) -> None:
    """If the restrictions cannot be read, every agent is denied, and the main session is blocked with the advice to try
    again.
    """
    answer = hook(project, "pre_tool_use", told("Write", **params), *before)
    assert (answer["decision"], "reason" in answer) == (decision, True)
    assert NOT_IN_TIME in answer["warnings"][0]


def test_context_collected_before_the_deadline_is_answered(project: Project) -> None:
    """An event that hangs at its end returns the context that it had collected."""
    ends = "import nexus_mcp.lifecycle.session_memory as one"
    hangs = "one.SessionMemory.end_skill = lambda *_, **__: (setattr(deadline._begun, '_wall', 0.0), time.sleep(600))"
    answer = hook(project, "user_message", compact({"prompt": "[m] Locks are slow."}).encode(), PATIENT, ends, hangs)
    assert "created" in answer["context"]
    assert NOT_IN_TIME in answer["warnings"][0]


def test_an_error_after_the_deadline_gives_no_second_answer(project: Project) -> None:
    """The event raises while the deadline writes its answer: stdout has that answer alone."""
    raises = """
import nexus_mcp.cli.hook as one
print_answer = one.Event.print
def slowly(event, answer):
    if not hasattr(one.Event, "is_writing"):
        one.Event.is_writing = True
        time.sleep(0.2)
    print_answer(event, answer)
def late(*_):
    deadline._begun._wall = 0.0
    while not getattr(one.Event, "is_writing", False):
        time.sleep(0.01)
    raise RuntimeError("late")
one.Event.print = slowly
one._answer = late
"""
    answer = hook(project, "pre_tool_use", told("Read"), PATIENT, raises)
    assert NOT_IN_TIME in answer["warnings"][0]


def test_files_unread_at_the_deadline_restrict_their_agent(project: Project) -> None:
    """An agent whose files were not read gets every restriction; the next hook reads them."""
    free = "id: {}\nname: N\ndescription: D\ncategory: do\nresume_tier: bounded\nmodel_tier: high\ncapabilities: []\n"
    project.put("agents/free/meta.yml", free.format("free"))
    project.put("agents/free/body.md", "x")
    project.put("state/tasks.json", compact({"goal": "", "decisions": [], "tasks": []}))
    stdin = told("Write", agent_name="free", tool_input={"file_path": "a"})
    answer = hook(project, "pre_tool_use", stdin, SPENT)
    assert answer["decision"] == "deny"
    assert "the time for reading the project's catalog was over" in answer["warnings"][0]
    assert hook(project, "pre_tool_use", stdin)["decision"] == "allow"


@pytest.mark.parametrize(
    ("params", "decision"), [({"agent_name": "engineer"}, "deny"), ({"agent_id": "a"}, "deny"), ({}, "continue")]
)
def test_fault_in_the_restrictions_denies_every_tool(project: Project, params: dict[str, str], decision: str) -> None:
    """Where the restrictions themselves cannot be read, as in a damaged installation, an agent may use no tool."""
    broken = "import nexus_mcp.catalog.sources as one; one.data_path = lambda *_: '/nonexistent'"
    answer = hook(project, "pre_tool_use", told("Write", **params), broken)
    assert answer["decision"] == decision
    assert "nexus-mcp has a fault of its own: FileNotFoundError" in answer["warnings"][0]


def test_payload_of_too_many_values_is_not_parsed(project: Project) -> None:
    """Such a payload is not parsed as JSON, which no deadline can interrupt; the agent and the tool are still found."""
    stdin = told("Write", agent_name="architect", tool_input=[[]] * 300_000)
    answer = hook(project, "pre_tool_use", stdin)
    assert answer["decision"] == "deny"
    assert "has too many values" in answer["warnings"][0]


def test_only_the_first_answer_is_written() -> None:
    """An event that ended in time is not answered again, and leaves no deadline behind."""
    answers: list[object] = []
    deadline = Deadline(dict, dict, answers.append)
    deadline.begin()
    assert deadline.end()
    assert not deadline.end()
    assert (answers, is_over()) == ([], False)


@pytest.mark.parametrize(
    ("params", "decision"),
    [
        (None, "deny"),
        ({}, "block"),
        ({"agent_id": "a"}, "deny"),
        ({"agent_name": "engineer"}, "deny"),
        ({"agent_name": 5}, "deny"),
    ],
)
def test_answer_without_files_is_the_stricter_one(params: dict[str, Any] | None, decision: str) -> None:
    """It is the stricter answer for a caller that may be restricted."""
    answer = last_answer("pre_tool_use", "codex", params, is_deciding=True)
    ANSWERED.validate(answer)
    assert answer["decision"] == decision
    assert last_answer("session_end", "codex", params, is_deciding=False)["decision"] == "continue"


def test_slow_writer_is_waited_for(project: Project) -> None:
    """A payload in many parts is waited for."""
    lines = "import os; real = os.read; os.read = lambda fd, n: real(fd, 7) if fd == 0 else real(fd, n)"
    answer = hook(project, "pre_tool_use", told("Write", agent_name="architect"), lines)
    assert answer["decision"] == "deny"
    assert answer["warnings"] == []


def test_an_agent_is_recorded_though_its_hook_answers_early(project: Project) -> None:
    """Where the machine has too much to do, an event of an agent is answered in time and recorded after that."""
    late = "real = load.usable; load.usable = lambda *_: (over(), time.sleep(0.5), real(*_))[2]"
    over = "over = lambda: setattr(deadline._begun, '_wall', 0.0)"
    spawn = compact({"agent_id": "a1", "agent_name": "architect"}).encode()
    answer = hook(project, "subagent_spawn", spawn, "import nexus_mcp.catalog.load as load", over, late)
    assert NOT_IN_TIME in answer["warnings"][0]
    entries = json.loads((project.root / ".nexus/state/claude-code/agent-tracker.json").read_text())
    assert [entry["agent_id"] for entry in entries] == ["a1"]
