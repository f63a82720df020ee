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
    """Append the task, to a new tasks.json when there is none."""
    fields = {name: value for name, value in arguments.items() if name not in _LIST_FIELDS}

    def change(now: Transaction) -> dict[str, Any]:
        changed, task = tasks.add(
            now.tasks or tasks.empty(),
            fields,
            now.stamp(),
            goal=arguments.get("goal", ""),
            decisions=arguments.get("decisions", []),
        )
        now.put(TASKS, changed, shapes.TASK, task)
        now.what = f"adds task {task['id']}"
        return {"task": shapes.order(task, shapes.part(shapes.TASK))}

    return ctx.store.change(change, ctx.by)


TOOL = Tool(
    name="task_add",
    title="Add a task",
    summary="Adds a task, with the tasks that it depends on.",
    description=(
        "Add one task to the shared list: a piece of work that one owner can finish and someone else can check. Call "
        "it once the plan's issues are decided, or whenever work turns up. Say in context what the owner has to know, "
        "in acceptance how to tell that it is done, in deps which tasks come first (they may be added later). goal "
        "replaces the goal of the whole list, decisions are appended to it. Returns the task with its id. Next: "
        "task_list shows what is ready, task_update moves a task on. On an error nothing was added."
    ),
    parameters={
        "title": {"type": "string", "minLength": 1, "description": "The work in one line."},
        "context": {"type": "string", "minLength": 1, "description": "What its owner has to know to do it."},
        "deps": {"type": "array", "items": ID, "description": "Ids of the tasks that have to be completed first."},
        "approach": {"type": "string", "description": "How to go about it."},
        "acceptance": {"type": "string", "description": "How to tell that it is done."},
        "risk": {"type": "string", "description": "What may go wrong."},
        "plan_issue": {**ID, "description": "Id of the plan issue that it carries out."},
        "goal": {"type": "string", "description": "What all tasks together are for; a blank one changes nothing."},
        "decisions": {**NAMES, "description": "Decisions that bind all tasks, appended to those recorded."},
        "owner": {"type": "string", "description": "Name of the agent that does it."},
        "owner_agent_id": {"type": "string", "description": "That agent's id in this harness, to resume it."},
        "owner_reuse_policy": {
            "type": "string",
            "enum": list(tasks.REUSE_POLICIES),
            "description": "Whether that agent is resumed: never, only for the same files, or always.",
        },
    },
    required=("title", "context"),
    output=answer({"task": {**TASK, "description": "The whole task, as tasks.json has it."}}),
    run=run,
    classes=(TASK_CREATION,),
)
