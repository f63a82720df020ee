"""Read catalog, notes, plan and tasks for an event: unusable parts cause a warning and never stop the event."""

from __future__ import annotations

from nexus_mcp.errors import NexusError, PathRefused, StateError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

_FAULTS = 3


def catalog_of(ctx: EventContext) -> Catalog:
    """Return the usable part of the catalog, with a warning about each of the first few faults.

    It is read once per event, until the reading deadline (deadline.py); entries not read by then count as faulty.
    """
    if ctx.catalog is not None:
        return ctx.catalog
    from nexus_mcp.catalog.load import load, usable
    from nexus_mcp.lifecycle.deadline import is_over

    try:
        catalog = usable(ctx.workspace.root, is_over)
    except NexusError as error:
        ctx.warn(f"What this project adds to agents and skills cannot be read, so what is shipped is: {error.fault}.")
        return load(None)
    for warning in catalog.warnings:
        ctx.warn(warning)
    ctx.catalog = catalog
    return catalog


def mending(agent: dict[str, Any]) -> str:
    """Return the next step for a refusal caused by a fault in the agent's files; "" for any other agent."""
    from nexus_mcp.catalog.sources import MEND

    if MEND not in agent:
        return ""
    from nexus_mcp.program import command
    from nexus_mcp.quoting import quoted_name

    return (
        f" {quoted_name(agent[MEND])} has a fault, and until it is fixed {quoted_name(agent['id'])} may do nothing "
        f"that can be forbidden. Tell the lead: {command('catalog check')} shows what is wrong."
    )


def notes_of(ctx: EventContext) -> list[dict[str, Any]]:
    """Return the index of the notes, as far as they can be listed."""
    from nexus_mcp.knowledge.index import index
    from nexus_mcp.quoting import fault

    faults: list[str] = []
    entries: list[dict[str, Any]] = []
    try:
        with ctx.store.nexus() as nexus:
            entries = index(nexus, faults)
    except NexusError as error:
        faults = [fault(error)]
    for text in faults[:_FAULTS]:
        ctx.warn(f"Not all notes could be listed: {text}.")
    return entries


def both_of(ctx: EventContext) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return (plan, tasks) as they were at one moment; each None as in `task_list_of`. Raises StorageError."""
    both = ctx.store.snapshot()
    return _read(ctx, "plan", both.plan), _read(ctx, "tasks", both.tasks)


def task_list_of(ctx: EventContext) -> dict[str, Any] | None:
    """Return the task list; None if absent, or unusable, with a warning. Raises StorageError."""
    return _read(ctx, "tasks", ctx.store.tasks)


def _read(ctx: EventContext, what: str, read: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    try:
        return read()
    except (StateError, PathRefused) as error:
        ctx.warn(f"The {what} could not be read: {error.fault}. {error.next_step}".rstrip())
        return None
