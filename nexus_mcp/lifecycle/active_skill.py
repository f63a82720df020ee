"""When the skill that a tag started is over: the work that it had is there no more."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle import memory
from nexus_mcp.store.transaction import PLAN, TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

SEEN = "seen"


def follow(ctx: EventContext, session: str) -> dict[str, Any]:
    """What is remembered of the session, without a skill that is over; that there is work for it is noted.

    Closing a cycle takes the plan and the tasks away together, so a skill that had either, and has neither now, has
    done what it was started for. One that never had any goes on until another begins, or the session ends.
    """
    known = memory.recall(ctx, session)
    if "skill" not in known or _has_work(ctx) == ("work" in known):
        return known
    fields = {"skill": None, "mode": None, "work": None} if "work" in known else {"work": SEEN}
    memory.note(ctx, session, **fields)
    return {name: value for name, value in {**known, **fields}.items() if value is not None}


def _has_work(ctx: EventContext) -> bool:
    """Whether there is a plan or a task list. One that cannot be used is there: nobody closed it."""
    try:
        with ctx.store.state() as state:
            return state is not None and (state.check_plain(PLAN) or state.check_plain(TASKS))
    except NexusError:  # told by whoever reads them
        return True
