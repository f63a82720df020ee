"""The tool plan_status: return the whole open plan."""

from __future__ import annotations

from nexus_mcp.state import plan
from nexus_mcp.tools.definition import COUNT, ID, ISSUE, READING, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: ToolContext, _: dict[str, Any]) -> dict[str, Any]:
    """Return the present plan from the disk; `active` is false without a plan."""
    current = ctx.store.plan()
    if current is None:
        return {"active": False}
    shown: dict[str, Any] = {
        "active": True,
        "plan_id": current["id"],
        "topic": current["topic"],
        "issues": current["issues"],
    }
    if "research_summary" in current:
        shown["research_summary"] = current["research_summary"]
    shown["summary"] = {
        "total": len(current["issues"]),
        "pending": len(plan.pending(current)),
        "decided": len(plan.decided_issues(current)),
    }
    return shown


TOOL = Tool(
    name="plan_status",
    title="Show the plan",
    summary="Shows the plan and its open questions.",
    description=(
        "Show the open plan: topic, research_summary, every issue with its status and decision, and counts. Call it "
        "when you join or resume a session, and before deciding. active is false when no plan is open; plan_start "
        "begins one. If a file is unreadable, do not start over: mend what the error names."
    ),
    parameters={},
    required=(),
    output=answer(
        {"active": {"type": "boolean", "description": "Whether a plan is open. If not, this is the only field."}},
        {
            "plan_id": {**ID, "description": "Number of the plan."},
            "topic": {"type": "string", "description": "What the plan is about."},
            "issues": {"type": "array", "items": ISSUE, "description": "Every issue, as plan.json has it."},
            "research_summary": {"description": "What was found out beforehand (string)."},
            "summary": {
                **answer({"total": COUNT, "pending": COUNT, "decided": COUNT}),
                "description": "How many issues there are, and how many of each status.",
            },
        },
    ),
    run=run,
    classes=(READING,),
    idempotent=True,
)
