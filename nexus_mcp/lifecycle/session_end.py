"""session_end: warn about tasks that are not closed, and delete the records of this session."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.session_memory import SessionMemory
from nexus_mcp.lifecycle.sources import list_ids, select_unfinished, tasks_of
from nexus_mcp.store import agents
from nexus_mcp.wording import finished_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Warn if tasks.json has tasks: they are not closed. Delete the agents and the memory of this session.

    After the last session of this harness the tracker is deleted. Return the created and the deleted files.
    """
    tasks = tasks_of(ctx)
    left = select_unfinished(tasks)
    if left:
        ctx.warn(
            f"The session ends with unfinished work, {list_ids(left)}. The tasks stay for the next session, and "
            "task_list shows them; if they are not to be done, task_close archives them as they are."
        )
    elif tasks:
        ctx.warn(f"{finished_text(len(tasks))} Call task_close to archive it.")
    session = params.get("session_id", "")
    made, removed, kept = agents.end(ctx.store, ctx.harness_id, session)
    if kept:
        ctx.warn(f"The record of this session's agents could not be read, and is kept as {kept}. Check its content.")
    SessionMemory(ctx, session).forget()
    return {"made": made, "deleted": removed}


EVENT = Event(optional=("session_id",), run=run)
