"""The tool context: the git branch, and goal and progress of the task list, in one small answer."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.state import tasks
from nexus_mcp.store.paths import TASKS
from nexus_mcp.tools.definition import COUNT, NAMES, READING, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, _: dict[str, Any]) -> dict[str, Any]:
    """Return branch, goal and progress. A malformed tasks.json counts as absent, so that sessions can still begin."""
    branch = ctx.workspace.branch()
    try:
        current = ctx.store.tasks()
    except StateError as error:
        if error.file != f".nexus/state/{TASKS}":
            raise
        from nexus_mcp import log

        log.warning(f"context answers without tasks.json: {error}")
        current = None
    if current is None:
        return {"branch": branch, "activeMode": None, "decisions": []}
    return {
        "branch": branch,
        "activeMode": "team",
        "goal": current["goal"],
        "tasksSummary": {
            "total": len(current["tasks"]),
            "completed": tasks.count(current, tasks.COMPLETED),
            "pending": tasks.count(current, tasks.PENDING),
        },
        "decisions": current["decisions"],
    }


TOOL = Tool(
    name="context",
    title="Show where we are",
    summary="Shows branch, goal and progress in one short answer.",
    description=(
        "Show in short where the work stands: git branch, whether a task list is open (activeMode team), its goal, "
        "progress and decisions; plan_status has those of a plan. Call it first when you start, resume or lose the "
        "thread; then task_list or plan_status for more."
    ),
    parameters={},
    required=(),
    output=answer(
        {
            "branch": {"type": "string", "description": "Git branch; HEAD when detached, _default outside git."},
            "activeMode": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "description": '"team" while a task list is open, else null; a plan alone does not count.',
            },
            "decisions": {
                **NAMES,
                "description": "Decisions recorded with task_add; plan_status shows the decisions of a plan.",
            },
        },
        {
            "goal": {"type": "string", "description": "Goal of the task list; only while one is open."},
            "tasksSummary": {
                **answer(
                    {
                        "total": {**COUNT, "description": "All tasks; those not counted below are in progress."},
                        "completed": COUNT,
                        "pending": {**COUNT, "description": "Not begun yet; a task in progress is not counted here."},
                    }
                ),
                "description": "Progress of the task list; only while one is open.",
            },
        },
    ),
    run=run,
    classes=(READING,),
    idempotent=True,
)
