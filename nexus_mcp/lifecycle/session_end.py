"""session_end: the session is over."""

from __future__ import annotations

from nexus_mcp.lifecycle import memory
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.unfinished import listed, tasks_of, unfinished
from nexus_mcp.store import agent_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Warn about what is left open, and clear what belongs to this session of this harness alone."""
    tasks = tasks_of(ctx)
    left = unfinished(tasks)
    if left:
        ctx.warn(
            f"The session ends with unfinished work, {listed(left)}. They stay for the next session, and task_list "
            "shows them; task_close archives them as they are, when they are not to be done."
        )
    elif tasks:
        ctx.warn(f"All {len(tasks)} tasks are completed, but the cycle is not closed. Call task_close to archive it.")
    session = params.get("session_id", "")
    made, removed, kept = agent_sessions.end(ctx.store, ctx.harness_id, session)
    if kept:
        ctx.warn(f"The record of this session's agents could not be read, and is kept as {kept}. Look what it holds.")
    memory.forget(ctx, session)
    return {"made": made, "deleted": removed}


EVENT = Event(optional=("session_id",), run=run)
