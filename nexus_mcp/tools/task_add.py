"""task_add: add a task."""

from __future__ import annotations

from nexus_mcp.state import shapes, tasks
from nexus_mcp.store.paths import TASKS
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import ID, NAMES, TASK, TASK_CREATION, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LIST_FIELDS = ("goal", "decisions")


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Append the task; change the goal and decisions of the list if the call has them; create tasks.json if absent."""
    fields = {name: value for name, value in arguments.items() if name not in _LIST_FIELDS}

    def change(now: Transaction) -> dict[str, Any]:
        changed, task = tasks.add(
            now.tasks or tasks.empty(),
            fields,
            now.stamp(),
            goal=arguments.get("goal", ""),
            decisions=arguments.get("decisions", []),
        )
        written = now.put(TASKS, changed, shapes.TASK, task)
        now.what = f"adds task {task['id']}"
        return {"task": written["tasks"][-1]}

    return ctx.store.change(change, ctx.by)


TOOL = Tool(
    name="task_add",
    title="Add a task",
    summary="Adds a task, with the tasks that it depends on.",
    description=(
        "Add one task to the shared list: work that one owner can finish and someone else can check. Call it once the "
        "plan's issues are decided, or when work turns up. Returns the task with its id. Next: task_list shows "
        "what is ready, task_update sets a status."
    ),
    parameters={
        "title": {"type": "string", "minLength": 1, "description": "The work in one line."},
        "context": {"type": "string", "minLength": 1, "description": "What the owner has to know."},
        "deps": {
            "type": "array",
            "items": ID,
            "description": "Ids of tasks to complete first, even if added later.",
        },
        "approach": {"type": "string", "description": "How to do the work."},
        "acceptance": {"type": "string", "description": "When the work counts as done."},
        "risk": {"type": "string", "description": "What may go wrong."},
        "plan_issue": {**ID, "description": "Issue that the task carries out."},
        "goal": {"type": "string", "description": "Replaces the goal of the whole list, unless blank."},
        "decisions": {**NAMES, "description": "Added to the decisions for all tasks."},
        "owner": {"type": "string", "description": "Agent that does the task."},
        "owner_agent_id": {"type": "string", "description": "Agent's id in the harness, to resume."},
        "owner_reuse_policy": {
            "type": "string",
            "enum": list(tasks.REUSE_POLICIES),
            "description": "Resume: never, for the same files, or always.",
        },
    },
    required=("title", "context"),
    output=answer({"task": {**TASK, "description": "The whole task, as tasks.json has it."}}),
    run=run,
    classes=(TASK_CREATION,),
)
