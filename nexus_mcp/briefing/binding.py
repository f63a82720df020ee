"""What binds a task beside its own text: the goal and the decisions of the task list, and what the plan decided."""

from __future__ import annotations

from nexus_mcp.briefing.task_text import block
from nexus_mcp.state import plan as plans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ITEM, _MORE = "- ", "  "


def binding_text(task: Mapping[str, Any], tasks: Mapping[str, Any], plan: Mapping[str, Any] | None) -> str:
    """`GOAL:`, `DECISION:` of the plan on the task's issue, below its title, and `DECISIONS:`; absent ones left out.

    Each is quoted as the sections of the task are.
    """
    texts = {"GOAL": tasks["goal"], "DECISION": _decision(task, plan), "DECISIONS": _list(tasks["decisions"])}
    return "\n\n".join(f"{head}:\n{block(text)}" for head, text in texts.items() if text.strip())


def _decision(task: Mapping[str, Any], plan: Mapping[str, Any] | None) -> str:
    """The issue that the task names and the decision on it; "" when there is none, or the plan is a later one."""
    issue = task.get("plan_issue")
    if plan is None or issue is None or plan["created_at"] > task["created_at"]:
        return ""
    for one in plan["issues"]:
        if one["id"] == issue and one["status"] == plans.DECIDED and one.get("decision", "").strip():
            return f"{one['title']}\n{one['decision']}"
    return ""


def _list(decisions: list[str]) -> str:
    return "\n".join(_ITEM + one.strip().replace("\n", f"\n{_MORE}") for one in decisions if one.strip())
