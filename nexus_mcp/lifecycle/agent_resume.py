"""agent_resume: an agent goes on with its work."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.unknown import warn_unknown
from nexus_mcp.state.agent_records import RESUME
from nexus_mcp.store.agent_files import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Mark the agent as running, resumed once more. One that is not in the tracker is worth a warning only."""
    agent_id = params["agent_id"]
    session = params.get("session_id", "")
    event = {"kind": RESUME, "at": ctx.store.stamp(), "agent_id": agent_id, "session_id": session}
    records, _ = record(ctx.store, ctx.harness_id, event)
    if records is None:
        warn_unknown(ctx, agent_id)
    return {"agent_id": agent_id, "resumed": records is not None}


EVENT = Event(
    required=("agent_id",),
    optional=("session_id",),
    run=run,
)
