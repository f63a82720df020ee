"""task_list: every task, and which are ready."""

from __future__ import annotations

from nexus_mcp.state import tasks
from nexus_mcp.tools.definition import COUNT, ID, READING, TASK, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, _: dict[str, Any]) -> dict[str, Any]:
    """Return the present task list from the disk; `exists` is false without a list."""
    current = ctx.store.tasks()
    if current is None:
        return {"exists": False}
    statuses = [task["status"] for task in current["tasks"]]
    return {
        "goal": current["goal"],
        "tasks": current["tasks"],
        "summary": {
            "total": len(statuses),
            "completed": statuses.count(tasks.COMPLETED),
            "pending": statuses.count(tasks.PENDING),
            "blocked": statuses.count(tasks.IN_PROGRESS),
            "ready": tasks.ready(current),
        },
    }


TOOL = Tool(
    name="task_list",
    title="List the tasks",
    summary="Lists the tasks and those that are ready to start.",
    description=(
        "List all tasks with goal, status and dependencies. summary.ready holds the ids to start now: pending, with "
        "all dependencies completed. summary.blocked counts the tasks in progress. Call it to choose what to do next, "
        "and before task_close. exists is false without a list; task_add begins one. If a file is unreadable, "
        "do not add tasks anew: mend what the error names."
    ),
    parameters={},
    required=(),
    output=answer(
        {},
        {
            "exists": {"type": "boolean", "description": "Only present without a list; always false."},
            "goal": {"type": "string", "description": "What all tasks together are for; may be empty."},
            "tasks": {"type": "array", "items": TASK, "description": "Every task, as tasks.json has it."},
            "summary": {
                **answer(
                    {
                        "total": COUNT,
                        "completed": COUNT,
                        "pending": COUNT,
                        "blocked": {**COUNT, "description": "Tasks in progress."},
                        "ready": {"type": "array", "items": ID, "description": "Ids of tasks to start now."},
                    }
                ),
                "description": "How many tasks there are, how many of each status, and which are ready.",
            },
        },
    ),
    run=run,
    classes=(READING,),
    idempotent=True,
)
