"""agent_resume: an agent goes on with its work."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.unknown import warn_unknown
from nexus_mcp.state import tracker
from nexus_mcp.store.harness_files import change_tracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Mark the agent as running, resumed once more. One that is not in the tracker is worth a warning only."""
    agent_id = params["agent_id"]
    entries = change_tracker(
        ctx.store, ctx.harness_id, lambda entries: tracker.resume(entries, agent_id, ctx.store.stamp())
    )
    if entries is None:
        warn_unknown(ctx, agent_id)
    return {"agent_id": agent_id, "resumed": entries is not None}


EVENT = Event(
    required=("agent_id",),
    run=run,
)
