"""Helpers of the event tests: run an event, and read the files of a harness."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nexus_mcp import schemas
from nexus_mcp.lifecycle.host import NEUTRAL, Host
from nexus_mcp.workspace import Workspace
from tests.events import handle
from tests.support import Json, Project, pretty

TRACKER = ".nexus/state/nexus-mcp/agent-tracker.json"
ACCESS = ".nexus/state/nexus-mcp/memory-access.jsonl"
UNMAPPED = (
    "There is no capability map of nexus-mcp, so no tool is refused, no edit needs a task, and no agent is resumed; "
    "the harnesses with a map are claude-code, codex, opencode. Name the harness with --harness-id, or give it a map "
    "in .nexus/capability-map.yml."
)
SPAWN = {"agent_name": "engineer", "agent_id": "a1"}


class Teller:
    """Sends events in one project as one harness: tell("agent_spawn", agent_name=…, agent_id=…) → the answer."""

    def __init__(
        self,
        root: Path,
        now: Callable[[], float] | None = None,
        harness_id: str = "nexus-mcp",
        host: Host = NEUTRAL,
    ) -> None:
        self.workspace = Workspace(str(root), harness_id)
        self.now = now
        self.host = host

    def __call__(self, event: str, **params: Json) -> dict[str, Any]:
        return self.send(event, params)

    def send(self, event: str, params: object) -> dict[str, Any]:
        answer = handle(event, params, self.workspace, self.now, host=self.host)
        assert schemas.faults(schemas.load("lifecycle/answer"), answer) == []
        return answer


def put(project: Project, path: str, content: Json) -> bytes:
    """Write a file by its path from the project root, and return its bytes."""
    project.put(path.removeprefix(".nexus/"), content)
    return (project.root / path).read_bytes()


def entry(agent_id: str = "a1", *, at: str, **more: Json) -> dict[str, Json]:
    """Return an entry as a spawn makes it, keys in schema order, changed by `more`."""
    known = {"last_resumed_at", "resume_count", "status"}
    middle = {"resume_count": 0, "status": "running", **{k: v for k, v in more.items() if k in known}}
    resumed = {k: middle.pop(k) for k in ("last_resumed_at",) if k in middle}
    return {
        "harness_id": more.get("harness_id", "nexus-mcp"),
        "started_at": at,
        "agent_name": more.get("agent_name", "engineer"),
        "agent_id": agent_id,
        **resumed,
        **middle,
        **{k: v for k, v in more.items() if k not in {*known, "harness_id", "agent_name"}},
    }


def stored(project: Project, *entries: Json) -> bool:
    """Whether the tracker holds these entries, byte for byte as a state file is written."""
    assert (project.root / TRACKER).read_bytes() == pretty(list(entries))
    return True
