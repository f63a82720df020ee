"""Helpers of the tests of several sessions: agents of claude-code, the tracker, and its extension file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jsonschema import Draft202012Validator

from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder
from tests.cli.support import CHECKOUT
from tests.lifecycle.support import Teller
from tests.support import Json, Project

OWN = ".nexus/state/claude-code"
TRACKER, BESIDE, OLD = f"{OWN}/agent-tracker.json", f"{OWN}/agents.extension.jsonl", f"{OWN}/agents.extension.old.jsonl"
HOUR_MS = 3_600_000
LINE = Draft202012Validator(json.loads((CHECKOUT / "schemas/lifecycle/agents-extension.schema.json").read_text()))
CONTRACT = {
    *("harness_id", "started_at", "agent_name", "agent_id", "last_resumed_at", "resume_count", "status"),
    *("stopped_at", "last_message", "files_touched"),
}


def spawn(tell: Teller, session: str, agent_id: str, name: str) -> dict[str, Any]:
    return tell("subagent_spawn", **of(session), agent_id=agent_id, agent_name=name)


def edits(tell: Teller, session: str, agent_id: str, **more: Json) -> Json:
    """The decision about an edit by an agent."""
    return tell("pre_tool_use", **of(session), agent_id=agent_id, tool="Edit", file="a.py", **more)["decision"]


def of(session: str) -> dict[str, Json]:
    return {"session_id": session} if session else {}


def tracked(project: Project) -> list[tuple[str, str, str]]:
    """(id, name, status) of each agent in the tracker, whose entries have no field but those of the contract."""
    entries = json.loads((project.root / TRACKER).read_text())
    assert all(entry.keys() <= CONTRACT for entry in entries)
    return [(entry["agent_id"], entry.get("agent_name", ""), entry["status"]) for entry in entries]


def beside(project: Project) -> list[Json]:
    """The lines beside the tracker, each of which keeps its schema."""
    path = project.root / BESIDE
    lines = [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []
    for line in lines:
        LINE.validate(line)
    return lines


@contextmanager
def locked(project: Project) -> Iterator[None]:
    with Folder.root(str(project.state)) as state, lock.acquire(state):
        yield
