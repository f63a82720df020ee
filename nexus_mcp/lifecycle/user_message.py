"""user_message: the user has sent a message."""

from __future__ import annotations

from nexus_mcp.lifecycle import active_skill, kept_copies
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.holding import PLAN, TASKS, not_held
from nexus_mcp.lifecycle.picture import HEAD, plan_text, tasks_text
from nexus_mcp.lifecycle.stored import both_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Say what the bracket tags of the message ask for, and where the plan and the tasks stand.

    The message itself is never changed, and no text of it comes back.
    """
    session, prompt = params.get("session_id", ""), params.get("prompt", "")
    plan, tasks = both_of(ctx)
    parts = {PLAN: plan_text(plan), TASKS: tasks_text(tasks)}
    tags: list[str] = []
    if "[" in prompt:
        from nexus_mcp.lifecycle import tagged

        tags = tagged.give(ctx, session, prompt)
    active_skill.follow(ctx, session)
    kept_copies.tell(ctx)
    new = not_held(ctx, session, parts)
    if new:
        ctx.give(HEAD, *new)
    return {"tags": tags}


EVENT = Event(optional=("prompt", "session_id"), run=run)
