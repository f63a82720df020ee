"""The dialects of Claude Code and Codex read recorded payloads, and give answers in the form of the harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.harness.dialect import DECIDING, EVENTS, LIMIT, OTHERS, origin_of, render
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.lifecycle.host import Host
from nexus_mcp.workspace import Workspace
from tests.support import Project

HERE = Path(__file__).parent
HOST = Host(limit=LIMIT, is_deaf=True)


def payloads(harness: str) -> list[dict[str, Any]]:
    lines = (HERE / "payloads" / f"{harness}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def send(project: Project, harness: str, payload: dict[str, Any], host: Host = HOST) -> dict[str, Any]:
    """Return the answer in the harness's form; {} if nothing is printed."""
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


def test_allow_prints_nothing() -> None:
    """`allow` and `continue` print nothing, because they must not override the user's rules that ask for permission."""
    for decision in ("allow", "continue"):
        answer: dict[str, Any] = {"event": "pre_tool_use", "harness_id": "codex", "decision": decision, "warnings": []}
        assert render(DECIDING, answer) == {}


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


def test_summariser_of_a_compaction_is_no_agent(project: Project) -> None:
    """A compaction ends a subagent without a type, which was never started: nothing is recorded, without a warning."""
    stop = {"hook_event_name": "SubagentStop", "session_id": "s", "agent_id": "a", "agent_type": ""}
    assert EVENTS["SubagentStop"][1](stop) is None
