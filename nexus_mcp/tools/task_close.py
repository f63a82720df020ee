"""task_close: archive plan and tasks as a cycle, and delete both."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.state import history, plan
from nexus_mcp.store.paths import PLAN, TASKS
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import COUNT, CYCLE_CLOSE, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, _: dict[str, Any]) -> dict[str, Any]:
    """Append the cycle and delete both files, all or nothing. A retry after a crash gets the first answer."""
    branch = ctx.workspace.branch()

    def change(now: Transaction) -> dict[str, Any]:
        if now.plan is None and now.tasks is None:
            earlier = now.recovered_answer()
            if earlier is not None:
                return earlier
        closed_plan, goal = now.plan, now.tasks["goal"] if now.tasks else ""
        closed_tasks = now.tasks["tasks"] if now.tasks else []
        past = now.history
        completed_at = past.free_time(now.stamp())
        cycle = history.cycle(completed_at, branch, closed_plan, closed_tasks)
        now.append(cycle)
        now.what = f"archives {len(closed_tasks)} task{'s' * (len(closed_tasks) != 1)}"
        now.what += f" and plan {closed_plan['id']}" if closed_plan else ""
        decisions = len(plan.decided_issues(closed_plan)) if closed_plan else 0
        topic = closed_plan["topic"] if closed_plan else ""
        return {
            "closed": True,
            "cycle": cycle["completed_at"],
            "branch": branch,
            "archived": {"plan": closed_plan is not None, "decisions": decisions, "tasks": len(closed_tasks)},
            "deleted": [name for name in (PLAN, TASKS) if now.delete(name)],
            "total_cycles": len(past) + 1,
            "memoryHint": {
                "taskCount": len(closed_tasks),
                "decisionCount": decisions,
                "cycleTopics": [text for text in (topic, goal) if text],
            },
        }

    closed, ctx.unanswered = ctx.store.close(change, ctx.by, lambda kept: not schemas.faults(TOOL.output, kept))
    return closed


TOOL = Tool(
    name="task_close",
    title="Close the cycle",
    summary="Moves plan and tasks into the history.",
    description=(
        "Close the cycle: archive the plan and all tasks, finished or not, into the history, then clear both. See "
        "task_list first: task_close does not ask. Returns what was archived, and memoryHint: note what is worth "
        "remembering. If a file is unreadable, nothing was changed: mend it, then call again. If the connection broke, "
        "call again: a close is not recorded twice."
    ),
    parameters={},
    required=(),
    output=answer(
        {
            "closed": {"type": "boolean", "description": "Always true."},
            "cycle": {"type": "string", "description": "completed_at of the archived cycle."},
            "branch": {"type": "string", "description": "Git branch that was checked out."},
            "archived": {
                **answer({"plan": {"type": "boolean"}, "decisions": COUNT, "tasks": COUNT}),
                "description": "Whether a plan, how many decided issues and how many tasks went into the history.",
            },
            "deleted": {"type": "array", "items": {"type": "string"}, "description": "Names of the cleared files."},
            "total_cycles": {**COUNT, "description": "How many cycles the history has now."},
            "memoryHint": {
                **answer(
                    {
                        "taskCount": COUNT,
                        "decisionCount": COUNT,
                        "cycleTopics": {"type": "array", "items": {"type": "string"}},
                    }
                ),
                "description": "Facts for a note about this cycle: numbers of tasks and decisions, topic, goal.",
            },
        }
    ),
    run=run,
    classes=(CYCLE_CLOSE,),
    destructive=True,
)
