"""turn_end: let the model stop, or block the end of the turn and ask the model to finish its work.

A model often completes all tasks and forgets to close the cycle. After a block, this event blocks again only if the
tasks or their statuses have changed, and only after a user message or after an end of a turn that it did not block. So
the model can always stop.
"""

from __future__ import annotations

import os

from nexus_mcp.lifecycle.definition import BLOCK, Event, EventContext
from nexus_mcp.lifecycle.session_memory import HELD, STOPPED, SessionMemory, digest
from nexus_mcp.lifecycle.settings import settings_of
from nexus_mcp.lifecycle.sources import list_ids, select_unfinished, tasks_of
from nexus_mcp.wording import finished_text
from nexus_mcp.workspace import RUN_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RUN = "nx-run"


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Block the end of a turn if all tasks are completed and the cycle is open.

    With `gates.nonstop` in .nexus/config.yml, also block it if the skill nx-run is active and tasks are left. Never
    block the end of a turn that already continues because of a hook (`stop_hook_active`), or of a session of a run.
    """
    tasks = [] if os.environ.get(RUN_VARIABLE) else tasks_of(ctx)
    if not tasks:  # also in a session of a run: the run closes the cycle
        return {}
    memory = SessionMemory(ctx, params.get("session_id", ""))
    if params.get("stop_hook_active") or HELD in memory.fields:
        memory.begin_turn()
        memory.save()
        return {}
    reason = _reason(ctx, memory, tasks)
    state = digest(repr([(task["id"], task["status"]) for task in tasks]))
    if not reason or memory.fields.get(STOPPED) == state:
        return {}
    is_first = False

    def claim(known: dict[str, Any]) -> dict[str, Any]:
        # A harness may report one end of a turn several times at once, so the stored state is compared under the lock.
        nonlocal is_first
        is_first = HELD not in known and known.get(STOPPED) != state
        return {STOPPED: state, HELD: "yes"} if is_first else {}

    if memory.save(claim) and is_first:  # without the record the model would be asked at each end of a turn
        ctx.decide(BLOCK, reason)
    return {}


def _reason(ctx: EventContext, memory: SessionMemory, tasks: list[dict[str, Any]]) -> str:
    """Return the instruction for the model before it stops; "" if it may stop."""
    left = select_unfinished(tasks)
    if not left:
        return f"{finished_text(len(tasks))} Call task_close to archive it, or tell the user why it stays open."
    is_running = memory.fields.get("skill") == _RUN
    if is_running and settings_of(ctx).get("gates", {}).get("nonstop", False):
        return (
            f"Unfinished: {list_ids(left)}. Go on with nx-run until no task is ready, or tell the user what you need."
        )
    return ""


EVENT = Event(optional=("session_id", "stop_hook_active", "last_message"), run=run)
