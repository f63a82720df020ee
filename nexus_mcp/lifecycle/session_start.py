"""session_start: a session begins, or goes on."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle import kept_copies
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.store import agent_sessions
from nexus_mcp.store.harness_files import drop_old_tracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESETTING = ("startup", "clear", "")
COMPACT = "compact"


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Make the folders. A session that is new begins without agents, and hears of what an earlier one left.

    The agents of other sessions that are not over stay. A harness without a capability map is told of.
    One that goes on ("resume", "compact", and whatever else comes) keeps its agents. After a compaction it is given
    what context_compact gives, unless that was given already.
    """
    source, session = params.get("source", ""), params.get("session_id", "")
    reset = source in RESETTING
    if reset:
        from nexus_mcp.lifecycle import leftovers

        _tell_unmapped(ctx)
        leftovers.warn(ctx)  # reads, so before anything is written: what it raises says that nothing was
    try:
        kept = agent_sessions.begin(ctx.store, ctx.harness_id, session, reset=reset)
    except NexusError:
        if source == COMPACT:  # what can be read is given all the same
            _give(ctx, session)
        raise
    if kept:
        ctx.warn(f"The record of an earlier session's agents could not be read, and is kept as {kept}. Look at it.")
    deleted = _without_the_old(ctx)
    kept_copies.tell(ctx)
    if reset:
        from nexus_mcp.lifecycle import memory

        memory.forget(ctx, session)
    elif source == COMPACT:
        _give(ctx, session)
    return {"reset": reset, "deleted": deleted}


def _tell_unmapped(ctx: EventContext) -> None:
    """In the context: a new session of any harness, in a project with nothing in it, has no warnings."""
    from nexus_mcp.catalog.capabilities import unmapped
    from nexus_mcp.lifecycle.known import catalog_of

    told = unmapped(catalog_of(ctx), ctx.harness_id)
    if told:
        ctx.give(f"Tell the user: {told}")


def _give(ctx: EventContext, session: str) -> None:
    from nexus_mcp.lifecycle import compaction
    from nexus_mcp.lifecycle.holding import STARTED

    compaction.give(ctx, session, by=STARTED)


def _without_the_old(ctx: EventContext) -> list[str]:
    try:
        return drop_old_tracker(ctx.store)
    except NexusError as error:
        ctx.warn(str(error))
        return []


EVENT = Event(optional=("source", "session_id"), run=run)
