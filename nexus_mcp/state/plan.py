"""Create, change and query plans in the form of plan.json. A change returns a new plan; the old one stays as it is."""

from __future__ import annotations

from nexus_mcp.errors import ToolError
from nexus_mcp.state.tasks import next_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PENDING = "pending"
DECIDED = "decided"
NO_PLAN = "No active plan session"


def new(plan_id: int, topic: str, titles: list[str], research_summary: str, created_at: str) -> dict[str, Any]:
    """Return a plan whose issues are `titles`, numbered from 1, all pending."""
    return {
        "id": plan_id,
        "topic": topic,
        "issues": [_issue(number, title) for number, title in enumerate(titles, 1)],
        "research_summary": research_summary,
        "created_at": created_at,
    }


def _issue(number: int, title: str) -> dict[str, Any]:
    return {"id": number, "title": title, "status": PENDING}


def add(plan: dict[str, Any], title: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the plan with one more issue, the issue)."""
    issue = _issue(next_id(plan["issues"]), title)
    return {**plan, "issues": [*plan["issues"], issue]}, issue


def remove(plan: dict[str, Any], issue_id: int) -> dict[str, Any]:
    """Return the plan without this issue; the other issues keep their ids. Raise ToolError if no issue has this id."""
    gone = find(plan, issue_id)
    return {**plan, "issues": [i for i in plan["issues"] if i is not gone]}


def edit(plan: dict[str, Any], issue_id: int, title: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the plan, the issue) with the issue's title changed. Raise ToolError if the issue does not exist."""
    return _replace(plan, issue_id, lambda issue: {**issue, "title": title})


def reopen(plan: dict[str, Any], issue_id: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the plan, the issue) with the issue pending and without its decision; its how_* fields stay.

    Raise ToolError if no issue has this id.
    """
    return _replace(
        plan, issue_id, lambda issue: {**{k: v for k, v in issue.items() if k != "decision"}, "status": PENDING}
    )


def decide(plan: dict[str, Any], issue_id: int, fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the plan, the issue) with the issue decided and with `fields` in it: its decision and how_* fields.

    Raise ToolError if no issue has this id.
    """
    return _replace(plan, issue_id, lambda issue: {**issue, "status": DECIDED, **fields})


def find(plan: dict[str, Any], issue_id: int) -> dict[str, Any]:
    """Return the first issue with this id. Raise ToolError if there is none."""
    for issue in plan["issues"]:
        if issue["id"] == issue_id:
            return issue  # type: ignore[no-any-return]
    raise ToolError(f"Issue {issue_id} not found")


def pending(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pending issues."""
    return [issue for issue in plan["issues"] if issue["status"] != DECIDED]


def decided_issues(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the decided issues."""
    return [issue for issue in plan["issues"] if issue["status"] == DECIDED]


def _replace(plan: dict[str, Any], issue_id: int, change: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    old = find(plan, issue_id)
    new_issue = change(old)
    return {**plan, "issues": [new_issue if issue is old else issue for issue in plan["issues"]]}, new_issue
