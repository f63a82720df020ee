"""session_start: create the folders, and report what an earlier session left."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle import leftovers
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.store import agents
from nexus_mcp.store.harness_files import drop_old_tracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESETTING = ("startup", "clear", "")
COMPACT = "compact"


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Create the folders. A new session starts without agents, with warnings about what an earlier one left.

    Agents of other active sessions stay. A missing capability map is reported.
    A session that continues ("resume", "compact" or any other source) keeps its agents. After a compaction it gets
    the context of context_compact, unless it has it already.
    """
    source, session = params.get("source", ""), params.get("session_id", "")
    reset = source in RESETTING
    if reset:
        _report_missing_map(ctx)
        leftovers.warn(ctx)  # reads only, so before any write: its errors say that nothing has changed
    try:
        kept = agents.begin(ctx.store, ctx.harness_id, session, reset=reset)
    except NexusError:
        if source == COMPACT:  # give the readable parts anyway
            _give(ctx, session)
        raise
    if kept:
        ctx.warn(
            f"The record of an earlier session's agents could not be read, and is kept as {kept}. Check its content."
        )
    deleted = _delete_old_tracker(ctx)
    leftovers.tell(ctx)
    if reset:
        from nexus_mcp.lifecycle import session_context

        session_context.forget(ctx, session)
    elif source == COMPACT:
        _give(ctx, session)
    return {"reset": reset, "deleted": deleted}


def _report_missing_map(ctx: EventContext) -> None:
    """Report a missing capability map in the context, because an empty project must cause no warnings."""
    from nexus_mcp.catalog.capabilities import unmapped
    from nexus_mcp.lifecycle.sources import catalog_of

    text = unmapped(catalog_of(ctx), ctx.harness_id)
    if text:
        ctx.give(f"Tell the user: {text}")


def _give(ctx: EventContext, session: str) -> None:
    from nexus_mcp.lifecycle import session_context
    from nexus_mcp.lifecycle.session_context import STARTED

    session_context.give(ctx, session, by=STARTED)


def _delete_old_tracker(ctx: EventContext) -> list[str]:
    try:
        return drop_old_tracker(ctx.store)
    except NexusError as error:
        ctx.warn(str(error))
        return []


EVENT = Event(optional=("source", "session_id"), run=run)
