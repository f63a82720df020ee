"""agent_spawn: an agent begins its work."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.state import tracker
from nexus_mcp.store.harness_files import change_tracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.state.tracker import Entry


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Add the agent to the tracker; one that is in it already is resumed."""
    name, agent_id = params["agent_name"], params["agent_id"]
    resumed = False

    def change(entries: list[Entry]) -> list[Entry]:
        nonlocal resumed
        resumed = tracker.find(entries, agent_id) is not None
        return tracker.spawn(entries, ctx.harness_id, name, agent_id, ctx.store.stamp())

    change_tracker(ctx.store, ctx.harness_id, change)
    return {"agent_id": agent_id, "resumed": resumed}


EVENT = Event(
    name="agent_spawn",
    summary="an agent begins its work, or goes on with it",
    required=("agent_name", "agent_id"),
    run=run,
)
