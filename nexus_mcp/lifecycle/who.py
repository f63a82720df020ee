"""Which agent is at work: what the tracker says of its id, else what the harness says itself."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.definition import MAIN
from nexus_mcp.state import tracker
from nexus_mcp.store.harness_files import usable_agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext


def name_of(ctx: EventContext, params: dict[str, Any]) -> str:
    """The name of the agent; "" when nobody knows it, or the session itself is at work."""
    told: str = params.get("agent_name", "")
    if "agent_id" not in params:
        return told
    try:
        entries, fault = usable_agents(ctx.store, ctx.harness_id)
    except NexusError as error:
        ctx.warn(f"What the tracker says of the agent is not known: {error.fault}. {error.next_step}".rstrip())
        return told
    entry = tracker.find(entries, params["agent_id"])
    if fault is not None:
        head = "What the tracker says of the agent is not known" if entry is None else "The tracker is not whole"
        ctx.warn(f"{head}: {fault.fault}. {fault.next_step}".rstrip())
    name = None if entry is None else entry.get("agent_name")
    return name if isinstance(name, str) and name else told


def reader(ctx: EventContext, params: dict[str, Any]) -> str:
    """Who read a note: the agent's name, else its id, else "main" for the session itself."""
    return name_of(ctx, params) or params.get("agent_id", MAIN)
