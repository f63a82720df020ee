"""plan_start: begin a plan, and archive an open one."""

from __future__ import annotations

from nexus_mcp.state import history, plan, shapes
from nexus_mcp.store.paths import PLAN
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import COUNT, ID, PLAN_CHANGE, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Archive an open plan as a cycle without tasks, and write the new plan, in one transaction."""
    branch = ctx.workspace.branch()

    def change(now: Transaction) -> dict[str, Any]:
        previous, past = now.plan, now.history
        highest = max(past.highest_plan_id, previous["id"] if previous else 0)
        stamp = now.stamp()
        started = plan.new(highest + 1, arguments["topic"], arguments["issues"], arguments["research_summary"], stamp)
        if previous is not None:
            completed_at = past.free_time(stamp)
            now.append(history.cycle(completed_at, branch, previous, []))
        now.put(PLAN, started, shapes.PLAN, started)
        now.what = f"starts plan {started['id']}"
        return {
            "created": True,
            "plan_id": started["id"],
            "topic": started["topic"],
            "issueCount": len(started["issues"]),
            "previousArchived": previous is not None,
        }

    return ctx.store.change(change, ctx.by)


TOOL = Tool(
    name="plan_start",
    title="Start a plan",
    summary="Starts a plan: a topic and its questions. Archives an open plan first.",
    description=(
        "Start a plan: a topic and the questions (issues) to decide before work begins. Look into the request first; "
        "research_summary takes what you found. An open plan is archived first: finish it with plan_decide and "
        "task_close if its decisions still matter. Issues are numbered from 1. Next: plan_decide for each."
    ),
    parameters={
        "topic": {"type": "string", "minLength": 1, "description": "In one line."},
        "issues": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "The questions, one line each. May be empty; plan_update adds more.",
        },
        "research_summary": {
            "type": "string",
            "description": "Facts, constraints, options found. May be empty.",
        },
    },
    required=("topic", "issues", "research_summary"),
    output=answer(
        {
            "created": {"type": "boolean", "description": "Always true."},
            "plan_id": {**ID, "description": "Number of the new plan."},
            "topic": {"type": "string", "description": "The topic as recorded."},
            "issueCount": {**COUNT, "description": "How many issues it has."},
            "previousArchived": {"type": "boolean", "description": "Whether an open plan was archived first."},
        }
    ),
    run=run,
    classes=(PLAN_CHANGE,),
)
