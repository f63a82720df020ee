"""agent_spawn: record a new agent, and give it its context and restrictions."""

from __future__ import annotations

from nexus_mcp.briefing.compose import parts
from nexus_mcp.catalog.capabilities import all_capabilities, forbidden_tools, missing_map_warning
from nexus_mcp.errors import StateError
from nexus_mcp.lifecycle.budget import NOTES, OUTCOME
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.sources import catalog_of, notes_of
from nexus_mcp.state.agents import SPAWN
from nexus_mcp.store.agents import record
from nexus_mcp.store.harness_files import TRACKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Add the agent to the tracker, or mark it as resumed if it is there. In both cases, add its context to the answer.

    The context has the index of the notes, the names of our tools, and the restrictions with the tools of this harness
    that they forbid. An agent that cannot be recorded gets the context, too, but stays unknown. Without a capability
    map no tool is forbidden, and the answer has a warning.
    """
    catalog, agent_id = catalog_of(ctx), params["agent_id"]
    warning = missing_map_warning(catalog, ctx.harness_id)
    if warning:
        ctx.warn(warning)
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
        if not error.file.endswith(f"/{TRACKER}"):  # a fault of another file blocks all changes
            raise
        ctx.warn(f"The agent was not recorded: {error.fault}. {error.next_step}".rstrip())
    return {"agent_id": agent_id, "resumed": resumed}


def _name(catalog: Catalog, given_name: str) -> str:
    """Return the name of the agent for the records; "" for a blank name.

    As in pre_tool_use, a name of the catalog is also found with a plugin prefix or capital letters.
    """
    last = given_name.rpartition(":")[2].strip().lower()
    if given_name not in catalog.agents and last in catalog.agents:
        return last
    return given_name if given_name.strip() else ""


def _give(ctx: EventContext, catalog: Catalog, name: str) -> None:
    """Add the context and the fields about restrictions. An agent that is not in the catalog has no restrictions."""
    known = name if name in catalog.agents else None
    for part, text in parts(catalog, None, known, ctx.harness_id, notes=notes_of(ctx)).items():
        ctx.give(text, kind=NOTES if part == "notes" else OUTCOME)
    if known is None:
        return
    own, closed = all_capabilities(catalog.agent(known)), forbidden_tools(catalog, known, ctx.harness_id)
    ctx.members |= {"capabilities": own, "disallowed_tools": closed}


EVENT = Event(
    required=("agent_name", "agent_id"),
    optional=("session_id",),
    run=run,
)
