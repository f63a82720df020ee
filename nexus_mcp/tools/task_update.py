"""task_update: move a task to another status."""

from __future__ import annotations

from nexus_mcp.errors import ToolError
from nexus_mcp.state import shapes, tasks
from nexus_mcp.store.paths import TASKS
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import ID, TASK, TASK_METADATA, TASK_STATE, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Set the status; any status may change to any other."""

    def change(now: Transaction) -> dict[str, Any]:
        there = now.tasks
        if there is None:
            raise ToolError("tasks.json not found")
        changed, task = tasks.set_status(there, arguments["id"], arguments["status"])
        written = now.put(TASKS, changed, shapes.TASK, {"status": task["status"]})
        now.what = f"sets task {task['id']} to {task['status']}"
        return {"task": next(row for row in written["tasks"] if row["id"] == task["id"])}

    return ctx.store.change(change, ctx.by)


TOOL = Tool(
    name="task_update",
    title="Move a task on",
    summary="Sets a task to pending, in progress or completed.",
    description=(
        "Set a task's status: in_progress when you begin it, completed when its acceptance is met, pending to reopen "
        'it. Call it at each step: other agents see the status. "tasks.json not found": task_add begins a list. "Task '
        'id <id> not found": see task_list.'
    ),
    parameters={
        "id": {**ID, "description": "Id of the task."},
        "status": {"type": "string", "enum": list(tasks.STATUSES), "description": "The new status."},
    },
    required=("id", "status"),
    output=answer({"task": {**TASK, "description": "The whole task, as tasks.json has it."}}),
    run=run,
    # No other tool changes a task, so this one belongs to both classes: an agent that may not use the tools of one of
    # the classes may not use this tool.
    classes=(TASK_STATE, TASK_METADATA),
    idempotent=True,
)
