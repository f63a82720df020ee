"""plan_decide: record the decision of an issue."""

from __future__ import annotations

from nexus_mcp.errors import ToolError
from nexus_mcp.state import plan, shapes
from nexus_mcp.store.paths import PLAN
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import ID, ISSUE_LINE, NAMES, PLAN_CHANGE, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALL_DECIDED = "All issues are decided. Turn the decisions into tasks with task_add, then carry them out."
_RECORDED = ("decision", "how_agents", "how_summary", "how_agent_ids")


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Mark the issue decided and write the recorded fields that are present."""
    recorded = {name: arguments[name] for name in _RECORDED if name in arguments}

    def change(now: Transaction) -> dict[str, Any]:
        if now.plan is None:
            raise ToolError(plan.NO_PLAN)
        changed, issue = plan.decide(now.plan, arguments["issue_id"], recorded)
        now.put(PLAN, changed, shapes.ISSUE, {"status": issue["status"], **recorded})
        now.what = f"decides issue {issue['id']}"
        remaining = plan.pending(changed)
        shown = {"decided": True, "issue": issue["title"], "allComplete": not remaining}
        if not remaining:
            return {**shown, "message": ALL_DECIDED}
        return {**shown, "remaining": [{k: i[k] for k in ("id", "title", "status")} for i in remaining]}

    return ctx.store.change(change, ctx.by)


_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}

TOOL = Tool(
    name="plan_decide",
    title="Record a decision",
    summary="Records the decision on a question.",
    description=(
        "Record what was decided for one issue of the open plan, in words that someone who was not there understands: "
        "the choice and why. Call it once per issue, as soon as it is settled; deciding again overwrites. If agents "
        "advised, name them in how_agents, their advice in how_summary and their ids in how_agent_ids. Returns what "
        "remains, or allComplete with the next step: add tasks with task_add. "
        '"No active plan session": call plan_start first. "Issue <id> not found": look the ids up with plan_status.'
    ),
    parameters={
        "issue_id": {**ID, "description": "Id of the issue."},
        "decision": {"type": "string", "description": "What was decided, and why."},
        "how_agents": {**NAMES, "description": "Names of the agents that advised."},
        "how_summary": {**_TEXTS, "description": "What each agent advised, by agent name."},
        "how_agent_ids": {**_TEXTS, "description": "Each agent's id in this harness, by agent name, to resume it."},
    },
    required=("issue_id", "decision"),
    output=answer(
        {
            "decided": {"type": "boolean", "description": "Always true."},
            "issue": {"type": "string", "description": "Title of the issue."},
            "allComplete": {"type": "boolean", "description": "Whether no issue is pending any more."},
        },
        {
            "message": {"type": "string", "description": "The next step, when all are decided."},
            "remaining": {"type": "array", "items": ISSUE_LINE, "description": "The issues still pending."},
        },
    ),
    run=run,
    classes=(PLAN_CHANGE,),
    idempotent=True,
)
