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
    """Mark the issue decided, and write its decision and, if the call has them, the fields of the advice."""
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
        "Record the decision on one issue of the open plan, for readers who were not there. Call it as soon as an "
        "issue is settled; deciding again overwrites. Returns the remaining issues, or allComplete: next, task_add. "
        '"No active plan session": call plan_start first. "Issue <id> not found": see plan_status.'
    ),
    parameters={
        "issue_id": {**ID, "description": "Id of the issue."},
        "decision": {"type": "string", "description": "The choice, and why."},
        "how_agents": {**NAMES, "description": "Agents that advised."},
        "how_summary": {**_TEXTS, "description": "Their advice, by agent name."},
        "how_agent_ids": {**_TEXTS, "description": "Their ids in the harness, by agent name, to resume them."},
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
