"""The plan and the tasks as events see them: what cannot be read is worth a warning, it stops no event."""

from __future__ import annotations

from nexus_mcp.errors import PathRefused, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext


def both_of(ctx: EventContext) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(plan.json, tasks.json) as they were at one moment; each None as for `task_list_of`. Raises StorageError."""
    both = ctx.store.both()
    return _read(ctx, "plan", both.plan), _read(ctx, "tasks", both.tasks)


def task_list_of(ctx: EventContext) -> dict[str, Any] | None:
    """tasks.json; None when it is absent, and with a warning when it cannot be used. Raises StorageError."""
    return _read(ctx, "tasks", ctx.store.tasks)


def _read(ctx: EventContext, what: str, read: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    try:
        return read()
    except (StateError, PathRefused) as error:
        ctx.warn(f"The {what} could not be looked at: {error.fault}. {error.next_step}".rstrip())
        return None
