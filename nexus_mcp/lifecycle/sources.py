"""Read catalog, notes, plan, tasks and conflict copies for an event.

Unusable parts do not stop the event. They cause a warning, except folders of conflict copies that cannot be read. Only
a StorageError for plan or tasks is raised.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError, PathRefused, StateError
from nexus_mcp.quoting import fault, quoted_name
from nexus_mcp.state.tasks import COMPLETED, IN_PROGRESS, ready
from nexus_mcp.wording import join_first

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.store.session import SessionSnapshot

_FAULTS = 3
_COPIES = 5
_NAMED = 20


def catalog_of(ctx: EventContext) -> Catalog:
    """Return the usable part of the catalog, and warn of faults.

    If the project's part cannot be read, return the shipped part. The catalog is read once per event. Entries not read
    by the reading deadline (deadline.py) count as faulty.
    """
    if ctx.catalog is not None:
        return ctx.catalog
    from nexus_mcp.catalog.load import load, usable
    from nexus_mcp.lifecycle.deadline import is_over

    try:
        catalog = usable(ctx.workspace.root, is_over)
    except NexusError as error:
        ctx.warn(f"The project's own agents and skills cannot be read, so the shipped ones are used: {error.fault}.")
        ctx.catalog = shipped = load(None).mount(ctx.harness_id, ctx.workspace.mount)
        return shipped
    for warning in catalog.warnings:
        ctx.warn(warning)
    ctx.catalog = catalog.mount(ctx.harness_id, ctx.workspace.mount)
    return catalog


def fault_advice(agent: dict[str, Any]) -> str:
    """Return the next step for a refusal that a fault in the agent's files causes; "" if they have no fault."""
    from nexus_mcp.catalog.sources import MEND

    if MEND not in agent:
        return ""
    from nexus_mcp.program import command

    return (
        f" {quoted_name(agent[MEND])} has a fault, and until it is fixed {quoted_name(agent['id'])} may use no tool "
        f"that can be forbidden. Tell the lead: {command('catalog check')} shows what is wrong."
    )


def notes_of(ctx: EventContext) -> list[dict[str, Any]]:
    """Return the index of the notes that can be listed, and warn of the first 3 faults."""
    from nexus_mcp.knowledge.index import index

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
    """Return (plan, tasks) as they were at one moment; each None if absent, and None with a warning if unusable.

    Raise StorageError.
    """
    both = snapshot_of(ctx)
    return _read(ctx, "plan", both.plan), _read(ctx, "tasks", both.tasks)


def snapshot_of(ctx: EventContext) -> SessionSnapshot:
    """Return the snapshot of plan and tasks, taken once per event.

    Its plan() and tasks() raise StateError, PathRefused, StorageError.
    """
    if ctx.snapshot is None:
        ctx.snapshot = ctx.store.snapshot()
    return ctx.snapshot


def tasks_of(ctx: EventContext) -> list[dict[str, Any]]:
    """Return all tasks; [] without tasks.json, [] with a warning if it is unusable. Raise StorageError."""
    found = _read(ctx, "tasks", ctx.store.tasks)
    return [] if found is None else found["tasks"]


def select_unfinished(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tasks that are pending or in progress."""
    return [task for task in tasks if task["status"] != COMPLETED]


def select_waiting(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pending tasks that are not ready, because they wait for another task."""
    begun = {*ready({"tasks": tasks})}
    return [task for task in select_unfinished(tasks) if task["status"] != IN_PROGRESS and task["id"] not in begun]


def list_ids(tasks: list[dict[str, Any]]) -> str:
    """Return ids and statuses of the first 20 tasks: `tasks 1 (pending), 3 (in_progress)`."""
    named = join_first(tasks, _NAMED, lambda task: f"{task['id']} ({task['status']})")
    return f"{'task' if len(tasks) == 1 else 'tasks'} {named}"


def tell_copies(ctx: EventContext) -> None:
    """Add a line to the context if there are conflict copies, or unusable files that were renamed (`conflict-…`)."""
    try:
        with ctx.store.history_folder() as nexus:
            names = [] if nexus is None else [name for name in nexus.names() if name.startswith("conflict-")]
            state = None if nexus is None else nexus.child("state")
            copies = [f".nexus/{name}" for name in names]
            if state is not None:
                from nexus_mcp.store import conflicts

                with state:
                    copies += conflicts.find_all(state)
        with ctx.store.nexus() as nexus:
            if nexus is not None:
                from nexus_mcp.store import conflicts

                copies += conflicts.find_among_notes(nexus)
    except NexusError:
        return
    if copies:
        ctx.give(
            "Copies of files that another program saved while a call replaced them, or that could not be used: "
            f"{join_first(copies, _COPIES, quoted_name)}. Read them, compare them with the files, take over what is "
            "missing through the tools, and tell the user, so that they can move the copies away."
        )


def _read(ctx: EventContext, what: str, read: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    try:
        return read()
    except (StateError, PathRefused) as error:
        ctx.warn(f"The {what} could not be read: {error.fault}. {error.next_step}".rstrip())
        return None
