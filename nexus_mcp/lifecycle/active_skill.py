"""When the skill that a tag started is over: the work that it had is there no more, or came and went unseen."""

from __future__ import annotations

import os

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle import memory
from nexus_mcp.store.transaction import PLAN, TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

SEEN = "seen"
_OVER = dict.fromkeys(("skill", "mode", "work", "history"))


def begun(ctx: EventContext, skill: str, mode: str) -> dict[str, object]:
    """What to remember of a skill that a tag starts now."""
    return {**_OVER, "skill": skill, "mode": mode or None, "history": _history(ctx)}


def follow(ctx: EventContext, session: str) -> dict[str, Any]:
    """What is remembered of the session, without a skill that is over; that there is work for it is noted.

    Closing a cycle takes the plan and the tasks away together, so a skill that had either, and has neither now, has
    done what it was started for; also when history grew since, for no event need have come in between. One that never
    had any goes on until another begins, or the session ends.
    """
    known = memory.recall(ctx, session)
    if "skill" not in known:
        return known
    fields: dict[str, Any] = {}
    if _has_work(ctx):
        fields = {} if "work" in known else {"work": SEEN}
    elif "work" in known or known.get("history", "") not in ("", _history(ctx)):
        fields = _OVER
    if fields:
        memory.note(ctx, session, **fields)
    return {name: value for name, value in {**known, **fields}.items() if value is not None}


def _has_work(ctx: EventContext) -> bool:
    """Whether there is a plan or a task list. One that cannot be used is there: nobody closed it."""
    try:
        with ctx.store.state() as state:
            return state is not None and (state.check_plain(PLAN) or state.check_plain(TASKS))
    except NexusError:  # told by whoever reads them
        return True


def _history(ctx: EventContext) -> str:
    """How many bytes history.json has, which each closed cycle adds to."""
    try:
        return str(os.lstat(os.path.join(ctx.workspace.root, ".nexus", "history.json")).st_size)
    except OSError:  # absent; what else is wrong with it is told by whoever reads it
        return "0"
