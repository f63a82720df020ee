"""user_message: handle the tags of a message, and describe the progress."""

from __future__ import annotations

from nexus_mcp.lifecycle import leftovers, session_context
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.progress_text import HEAD, plan_text, tasks_text
from nexus_mcp.lifecycle.session_context import PLAN_TEXT, TASKS_TEXT, select_new
from nexus_mcp.lifecycle.sources import both_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Describe what the bracket tags ask for, and the progress of plan and tasks.

    The message is never changed, and its text is not returned.
    """
    session, prompt = params.get("session_id", ""), params.get("prompt", "")
    plan, tasks = both_of(ctx)
    parts = {PLAN_TEXT: plan_text(plan), TASKS_TEXT: tasks_text(tasks)}
    tags: list[str] = []
    if "[" in prompt:
        from nexus_mcp.lifecycle import tagged

        tags = tagged.give(ctx, session, prompt)
    session_context.follow(ctx, session)
    leftovers.tell(ctx)
    new = select_new(ctx, session, parts)
    if new:
        ctx.give(HEAD, *new)
    return {"tags": tags}


EVENT = Event(optional=("prompt", "session_id"), run=run)
