"""What an earlier session left open, told to a new one: which plan, which tasks, and what can be done about them."""

from __future__ import annotations

from nexus_mcp.lifecycle.stored import both_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

_TITLE = 120


def warn(ctx: EventContext) -> None:
    """Warn of plan.json and of tasks.json, each when it is there. What cannot be read is worth a warning itself."""
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
    elif has_tasks:  # which are told of, with what to do about them
        then = "All of it is decided, and has tasks."
    else:
        then = (
            "All of it is decided: derive the tasks with task_add, or archive it with task_close when there are none."
        )
    return f"{head}{then}"


def _tasks(tasks: dict[str, Any]) -> str:
    from nexus_mcp.lifecycle.unfinished import listed, unfinished

    rows = tasks["tasks"]
    left = unfinished(rows)
    if left:
        return f"not done are {listed(left)}. Go on with them: task_list shows them, and which are ready."
    if rows:
        return f"all {len(rows)} tasks are completed, but the cycle is not closed. Call task_close to archive it."
    return "it has no tasks. Add them with task_add, or call task_close to begin anew."
