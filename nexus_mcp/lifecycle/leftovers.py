"""Report what earlier sessions left: a plan, unfinished tasks, and copies of files saved during a call."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.sources import both_of, task_list_of
from nexus_mcp.quoting import quoted_name
from nexus_mcp.state.tasks import COMPLETED, IN_PROGRESS, ready

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

_NAMED = 20


def tasks_of(ctx: EventContext) -> list[dict[str, Any]]:
    """Return all tasks; [] with a warning if tasks.json is unusable. Raises StorageError."""
    found = task_list_of(ctx)
    return [] if found is None else found["tasks"]


def unfinished(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tasks that are pending or in progress."""
    return [task for task in tasks if task["status"] != COMPLETED]


def waiting(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pending tasks that wait for another task, so that no agent could start them."""
    begun = {*ready({"tasks": tasks})}
    return [task for task in unfinished(tasks) if task["status"] != IN_PROGRESS and task["id"] not in begun]


def listed(tasks: list[dict[str, Any]]) -> str:
    """Return ids and statuses of the first 20 tasks: `tasks 1 (pending), 3 (in_progress)`."""
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    named = ", ".join(f"{task['id']} ({task['status']})" for task in tasks[:_NAMED])
    return f"{'task' if len(tasks) == 1 else 'tasks'} {named}{more}"


_TITLE = 120


def warn(ctx: EventContext) -> None:
    """Warn about plan.json and tasks.json if they exist; an unreadable one causes its own warning."""
    plan, tasks = both_of(ctx)
    if plan is not None:
        ctx.warn(f"plan.json is left from an earlier session: {_plan(plan, has_tasks=bool(tasks and tasks['tasks']))}")
    if tasks is not None:
        ctx.warn(f"tasks.json is left from an earlier session: {_tasks(tasks)}")


def _plan(plan: dict[str, Any], *, has_tasks: bool) -> str:
    from nexus_mcp.quoting import quoted
    from nexus_mcp.state.plan import PENDING

    pending = sum(issue["status"] == PENDING for issue in plan["issues"])
    head = (
        f"plan {plan['id']}, topic {quoted(plan['topic'], _TITLE)}, {pending} of {len(plan['issues'])} issues pending. "
    )
    if pending:
        then = (
            "Go on with it: plan_status shows it, plan_decide records a decision; plan_start archives it for another."
        )
    elif has_tasks:  # the warning about tasks.json has the next step
        then = "All of it is decided, and has tasks."
    else:
        then = (
            "All of it is decided: derive the tasks with task_add, or archive it with task_close when there are none."
        )
    return f"{head}{then}"


def _tasks(tasks: dict[str, Any]) -> str:

    rows = tasks["tasks"]
    left = unfinished(rows)
    if left:
        return f"not done are {listed(left)}. Go on with them: task_list shows them, and which are ready."
    if rows:
        return f"all {len(rows)} tasks are completed, but the cycle is not closed. Call task_close to archive it."
    return "it has no tasks. Add them with task_add, or call task_close to begin anew."


_COPIES = 5


def tell(ctx: EventContext) -> None:
    """Add a line to the context if there are copies that keep what another program saved during a call."""
    try:
        with ctx.store.nexus() as nexus:
            names = [] if nexus is None else [name for name in nexus.names() if name.startswith("conflict-")]
            state = None if nexus is None else nexus.child("state")
            copies = [f".nexus/{name}" for name in names]
            if nexus is not None:
                from nexus_mcp.store import conflicts

                copies += conflicts.find_among_notes(nexus)
            if state is not None:
                with state:
                    copies += conflicts.find_all(state)
    except NexusError:
        return
    if copies:
        more = f" and {len(copies) - _COPIES} more" if len(copies) > _COPIES else ""
        named = ", ".join(map(quoted_name, copies[:_COPIES]))
        ctx.give(
            f"Copies of files that another program saved while a call replaced them, or that could not be used: "
            f"{named}{more}. Read them, compare them with the files, take over what is missing through the tools, and "
            "tell the user, so that they can move the copies away."
        )
