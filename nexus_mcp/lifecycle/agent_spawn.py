"""agent_spawn: an agent begins its work."""

from __future__ import annotations

from nexus_mcp.briefing.compose import parts
from nexus_mcp.catalog.capabilities import disallowed, effective, unmapped
from nexus_mcp.errors import StateError
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.known import catalog_of, notes_of
from nexus_mcp.state.agent_records import SPAWN
from nexus_mcp.store.agent_files import record
from nexus_mcp.store.harness_files import TRACKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Add the agent to the tracker; one that is in it already is resumed. Either way it hears what it has to know:

    the index of the notes, what it may not do, and which tools of this harness that takes away. It does so too when
    it cannot be recorded; then it is an unknown agent. Without a capability map nothing is taken away, which is told.
    """
    catalog, agent_id = catalog_of(ctx), params["agent_id"]
    told = unmapped(catalog, ctx.harness_id)
    if told:
        ctx.warn(told)
    name = _name(catalog, params["agent_name"])
    session = params.get("session_id", "")
    event = {"kind": SPAWN, "at": ctx.store.stamp(), "agent_id": agent_id, "agent_name": name, "session_id": session}
    _give(ctx, catalog, name)
    resumed = False
    try:
        records, _ = record(ctx.store, ctx.harness_id, event)
        entry = None if records is None else records.own(agent_id, session)
        resumed = entry is not None and "last_resumed_at" in entry
    except StateError as error:
        if not error.file.endswith(f"/{TRACKER}"):  # of what blocks all changes, whoever told of the event hears
            raise
        ctx.warn(f"The agent was not recorded: {error.fault}. {error.next_step}".rstrip())
    return {"agent_id": agent_id, "resumed": resumed}


def _name(catalog: Catalog, told: str) -> str:
    """What the agent is called in the records; "" for a name of blanks.

    One of the catalog is found also with a plug-in before its name, or in capitals, as pre_tool_use finds it.
    """
    last = told.rpartition(":")[2].strip().lower()
    if told not in catalog.agents and last in catalog.agents:
        return last
    return told if told.strip() else ""


def _give(ctx: EventContext, catalog: Catalog, name: str) -> None:
    """Give the context, and the members about restrictions: none for an agent that the catalog has not."""
    known = name if name in catalog.agents else None
    ctx.give(*parts(catalog, None, known, ctx.harness_id, notes=notes_of(ctx)).values())
    if known is None:
        return
    own, closed = effective(catalog.agent(known)), disallowed(catalog, known, ctx.harness_id)
    ctx.members |= {"capabilities": own, "disallowed_tools": closed}


EVENT = Event(
    required=("agent_name", "agent_id"),
    optional=("session_id",),
    run=run,
)
