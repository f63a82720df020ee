"""Values of history.json: new cycles, plan ids, and the summary of an archived cycle."""

from __future__ import annotations

from nexus_mcp.schemas import is_integer
from nexus_mcp.state import plan as plans
from nexus_mcp.state.shapes import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def cycle(completed_at: str, branch: str, plan: dict[str, Any] | None, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a new cycle."""
    return {
        "schema_version": VERSION,
        "completed_at": completed_at,
        "branch": branch,
        "plan": plan,
        "tasks": tasks,
    }


def plan_id(archived: dict[str, Any]) -> int:
    """Return the id of the plan in a cycle; 0 if the cycle has no plan, or the plan no valid id."""
    plan = archived.get("plan")
    number = plan.get("id") if isinstance(plan, dict) else None
    return max(0, int(number)) if number is not None and is_integer(number) else 0


def summary(archived: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a cycle that history_search shows. Fields that an old cycle lacks are left out."""
    shown = {name: archived[name] for name in ("completed_at", "branch") if isinstance(archived.get(name), str)}
    plan = archived.get("plan")
    if isinstance(plan, dict):
        if isinstance(plan.get("topic"), str):
            shown["topic"] = plan["topic"]
        issues = plan.get("issues")
        shown["decisions"] = [
            {name: issue[name] for name in ("title", "decision") if isinstance(issue.get(name), str)}
            for issue in (issues if isinstance(issues, list) else ())
            if isinstance(issue, dict) and issue.get("status") == plans.DECIDED
        ]
    if isinstance(archived.get("tasks"), list):
        shown["task_count"] = len(archived["tasks"])
    return shown
