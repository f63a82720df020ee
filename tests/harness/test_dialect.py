"""The dialects of Claude Code and Codex: recorded payloads in, answers in their form out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nexus_mcp.harness.dialect import DECIDING, EVENTS, LIMIT, OTHERS, origin_of, render
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.lifecycle.host import Host
from nexus_mcp.workspace import Workspace
from tests.harness.codex_schemas import schema_of_answer
from tests.support import Json, Project, task, tasks

HERE = Path(__file__).parent
HOST = Host(limit=LIMIT, is_deaf=True)


def payloads(harness: str) -> list[dict[str, Any]]:
    lines = (HERE / "payloads" / f"{harness}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def send(project: Project, harness: str, payload: dict[str, Any], host: Host = HOST) -> dict[str, Any]:
    """Return the answer in the harness's form, {} where nothing is printed."""
    row = EVENTS.get(payload["hook_event_name"])
    params = None if row is None else row[1](payload)
    if row is None or params is None:
        return {}
    answer = answer_event(row[0], params, Workspace(str(project.root), harness), host)
    assert [text for text in answer["warnings"] if "could not be handled" in text] == []
    return render(payload["hook_event_name"], answer)


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
def test_recorded_payloads_are_understood(project: Project, harness: str) -> None:
    """Each recorded payload is handled without a failure, and each event is known."""
    for payload in payloads(harness):
        assert payload["hook_event_name"] in {*EVENTS, *OTHERS}
        send(project, harness, payload)
    assert not (project.state / harness / "hook-errors.jsonl").exists()


def test_fault_5_codex_gets_only_fields_that_it_accepts(project: Project) -> None:
    """Each answer to a recorded payload of Codex is valid by Codex's own schemas, a denial and a warning too."""
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    seen = set()
    for payload in payloads("codex"):
        name = payload["hook_event_name"]
        answers = [send(project, "codex", payload), *every_answer(name)]
        for answer in answers:
            schema = schema_of_answer(name)
            if schema is None:
                assert answer == {}
            else:
                jsonschema.validate(answer, schema)
            seen.add((name, tuple(answer)))
    assert (DECIDING, ("hookSpecificOutput",)) in seen
    assert ("Stop", ("decision", "reason")) in seen


def every_answer(event: str) -> list[dict[str, Any]]:
    """Return the forms of an answer with each decision, with and without context, warnings and a failure."""
    base: dict[str, Json] = {"event": "x", "harness_id": "codex", "warnings": []}
    failure = "The event x could not be handled: no disk."
    return [
        render(event, {**base, "decision": decision, "reason": "Wait.", **more})
        for decision in ("allow", "continue", "deny", "block")
        for more in ({}, {"context": "c"}, {"warnings": ["w"]}, {"warnings": [failure], "context": "c"})
    ]


def test_allow_prints_nothing() -> None:
    """`allow` and `continue` print nothing: they must not grant what the user's rules would ask."""
    for decision in ("allow", "continue"):
        answer: dict[str, Any] = {"event": "pre_tool_use", "harness_id": "codex", "decision": decision, "warnings": []}
        assert render(DECIDING, answer) == {}


def test_fault_2_report_of_a_subagent_has_no_tags(project: Project) -> None:
    """The report of a subagent arrives as a message: its [m] makes no note, in both harnesses."""
    report = "<task-notification>\n<task-id>a2</task-id>\n[m] note: Locks are slow.\n</task-notification>"
    claude = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": report}
    codex = {**claude, "prompt": "[m] note: Locks are slow.", "agent_id": "a", "agent_type": "default"}
    assert (origin_of(claude), origin_of(codex)) == ("agent", "agent")
    assert send(project, "claude-code", claude) == send(project, "codex", codex) == {}
    assert not (project.nexus / "memory").exists()


@pytest.mark.parametrize(
    ("prompt", "origin"),
    [
        ("<system-reminder>[m] x</system-reminder>", "system"),
        (" <local-command-stdout>[m] x", "system"),
        ("[m] <b>bold</b>", "user"),
        ("<html> [m] x", "user"),
        ("a < b [m] x", "user"),
    ],
)
def test_origin_of_a_message(prompt: str, origin: str) -> None:
    """Notices of the harness begin with an element whose name has a hyphen; everything else is the user's."""
    assert origin_of({"prompt": prompt}) == origin


def test_source_of_another_program_is_no_user() -> None:
    """A message whose source is not the user has no tags, even if the source is new."""
    assert origin_of({"prompt": "[m] x", "source": "schedule"}) == "system"


def test_fault_1_context_fits(project: Project) -> None:
    """Whatever starts together, an answer has at most 9 000 characters, and names where the rest is."""
    project.put("state/tasks.json", tasks(*(task(number) for number in range(1, 300))))
    message = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "[plan] [run] [sync] x"}
    text = send(project, "claude-code", message)["hookSpecificOutput"]["additionalContext"]
    assert len(text) <= LIMIT
    assert "nexus://skills/nx-plan" in text


def test_fault_4_warnings_of_subagents_reach_the_lead(project: Project) -> None:
    """A warning at the end of a subagent goes with the next message, or tool of the lead, and only once."""
    project.put("state/tasks.json", tasks(task(1, owner="engineer")))
    session = {"session_id": "s"}
    start = {**session, "hook_event_name": "SessionStart", "source": "resume"}
    spawn = {**session, "hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "engineer"}
    stop = {**spawn, "hook_event_name": "SubagentStop", "last_assistant_message": "Done."}
    tool = {**session, "hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_input": {}, "tool_response": {}}
    message = {**session, "hook_event_name": "UserPromptSubmit", "prompt": "Go on."}
    for carrier in (tool, message):
        for payload in (start, spawn):
            send(project, "claude-code", payload)
        assert send(project, "claude-code", stop) == {}
        assert "task 1" in send(project, "claude-code", carrier)["hookSpecificOutput"]["additionalContext"]
        again = send(project, "claude-code", {**message, "prompt": "On."})
        assert "unfinished" not in json.dumps(again)


def test_summariser_of_a_compaction_is_no_agent(project: Project) -> None:
    """A compaction ends a subagent without a type, which was never started: nothing is recorded, without a warning."""
    stop = {"hook_event_name": "SubagentStop", "session_id": "s", "agent_id": "a", "agent_type": ""}
    assert EVENTS["SubagentStop"][1](stop) is None


def test_fault_10_compaction_tells_the_model_not_the_summary(project: Project) -> None:
    """PreCompact gives nothing and counts as nothing; SessionStart after the compaction gives everything."""
    project.put("state/tasks.json", tasks(task(1)))
    session = {"session_id": "s"}
    assert send(project, "claude-code", {**session, "hook_event_name": "PreCompact", "trigger": "auto"}) == {}
    after = send(project, "claude-code", {**session, "hook_event_name": "SessionStart", "source": "compact"})
    assert "Tasks: 1 in all" in after["hookSpecificOutput"]["additionalContext"]


def test_fault_11_state_is_given_when_it_changed(project: Project) -> None:
    """The second message of a session has no state that the first one had."""
    project.put("state/tasks.json", tasks(task(1)))
    message = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Go on."}
    send(project, "claude-code", {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
    assert "Tasks: 1 in all" in json.dumps(send(project, "claude-code", message))
    assert send(project, "claude-code", message) == {}
