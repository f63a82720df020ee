"""The tasks of the session that are not done, and how texts name them."""

from __future__ import annotations

from nexus_mcp.lifecycle.stored import task_list_of
from nexus_mcp.state.tasks import COMPLETED, IN_PROGRESS, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

_NAMED = 20


def tasks_of(ctx: EventContext) -> list[dict[str, Any]]:
    """All tasks there are; none, and a warning, when tasks.json cannot be used. Raises StorageError."""
    found = task_list_of(ctx)
    return [] if found is None else found["tasks"]


def unfinished(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are pending or in progress."""
    return [task for task in tasks if task["status"] != COMPLETED]


def waiting(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of all tasks that are pending and wait for another one, so that nobody could have begun them."""
    begun = {*ready({"tasks": tasks})}
    return [task for task in unfinished(tasks) if task["status"] != IN_PROGRESS and task["id"] not in begun]


def listed(tasks: list[dict[str, Any]]) -> str:
    """`tasks 1 (pending), 3 (in_progress)`: ids and statuses for a text, of the first 20."""
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    named = ", ".join(f"{task['id']} ({task['status']})" for task in tasks[:_NAMED])
    return f"{'task' if len(tasks) == 1 else 'tasks'} {named}{more}"
