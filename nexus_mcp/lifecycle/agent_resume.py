"""agent_resume: record that an agent continues its work."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.agent_identity import warn_unknown
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.state.agents import RESUME
from nexus_mcp.state.tracker import COMPLETED
from nexus_mcp.store.agents import read, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Mark the agent as running, with one more resume. An agent that is not in the tracker causes only a warning."""
    agent_id = params["agent_id"]
    session = params.get("session_id", "")
    event = {"kind": RESUME, "at": ctx.store.stamp(), "agent_id": agent_id, "session_id": session}
    records, _ = record(ctx.store, ctx.harness_id, event)
    if records is None:
        warn_unknown(ctx, agent_id)
    return {"agent_id": agent_id, "resumed": records is not None}


def record_hidden(ctx: EventContext, params: dict[str, Any]) -> None:
    """Mark a completed agent as running, with one more resume, because it uses a tool. An error becomes a warning.

    It serves harnesses that send no event when an agent continues. An agent that is not in the tracker stays unknown.
    """
    agent_id, session = params["agent_id"], params.get("session_id", "")
    try:
        entry = read(ctx.store, ctx.harness_id).records.own(agent_id, session)
        if entry is not None and entry.get("status") == COMPLETED:
            event = {"kind": RESUME, "at": ctx.store.stamp(), "agent_id": agent_id, "session_id": session}
            record(ctx.store, ctx.harness_id, event)
    except NexusError as error:
        ctx.warn(f"The resume of the agent was not recorded: {error}")


EVENT = Event(
    required=("agent_id",),
    optional=("session_id",),
    run=run,
)
