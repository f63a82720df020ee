"""The tasks of the session, as events see them: what cannot be read is worth a warning, it stops no event."""

from __future__ import annotations

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.state.tasks import COMPLETED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext


def tasks_of(ctx: EventContext) -> list[dict[str, Any]]:
    """All tasks there are; none, and a warning, when tasks.json cannot be used. Raises StorageError."""
    try:
        found = ctx.store.tasks()
    except (StateError, PathRefused) as error:
        ctx.warn(f"The tasks could not be looked at: {error.fault}. {error.next_step}".rstrip())
        return []
    return [] if found is None else found["tasks"]


def unfinished(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are pending or in progress."""
    return [task for task in tasks if task["status"] != COMPLETED]


def listed(tasks: list[dict[str, Any]]) -> str:
    """`1 (pending), 3 (in_progress)`: ids and statuses for a text."""
    return ", ".join(f"{task['id']} ({task['status']})" for task in tasks)
