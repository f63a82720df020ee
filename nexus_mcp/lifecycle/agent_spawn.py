"""agent_spawn: an agent begins its work."""

from __future__ import annotations

from nexus_mcp.briefing.compose import parts
from nexus_mcp.catalog.capabilities import disallowed, effective, unmapped
from nexus_mcp.errors import StateError
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.known import catalog_of, notes_of
from nexus_mcp.lifecycle.params import is_name
from nexus_mcp.state import tracker
from nexus_mcp.store.harness_files import TRACKER, change_tracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.state.tracker import Entry


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Add the agent to the tracker; one that is in it already is resumed. Either way it hears what it has to know:

    the index of the notes, what it may not do, and which tools of this harness that takes away. It does so too when
    the tracker cannot be used or written. Without a capability map nothing is taken away, which is told.
    """
    catalog, agent_id = catalog_of(ctx), params["agent_id"]
    told = unmapped(catalog, ctx.harness_id)
    if told:
        ctx.warn(told)
    name = _name(catalog, params["agent_name"])
    resumed = False

    def change(entries: list[Entry]) -> list[Entry]:
        nonlocal resumed
        resumed = tracker.find(entries, agent_id) is not None
        return tracker.spawn(entries, ctx.harness_id, name, agent_id, ctx.store.stamp())

    _give(ctx, catalog, name)
    try:
        change_tracker(ctx.store, ctx.harness_id, change)
    except StateError as error:
        if not error.file.endswith(f"/{TRACKER}"):  # of what blocks all changes, whoever told of the event hears
            raise
        ctx.warn(f"The agent was not recorded: {error.fault}. {error.next_step}".rstrip())
    return {"agent_id": agent_id, "resumed": resumed}


def _name(catalog: Catalog, told: str) -> str:
    """What the tracker calls the agent; "" for one that a harness calls so as no agent of ours may be called.

    One of the catalog is found also with a plug-in before its name, or in capitals, as pre_tool_use finds it.
    """
    last = told.rpartition(":")[2].strip().lower()
    if told not in catalog.agents and last in catalog.agents:
        return last
    return told if is_name(told) else ""


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
    run=run,
)
