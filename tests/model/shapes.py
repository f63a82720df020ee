"""The order of keys in files, and the fields of a cycle that a search returns."""

from __future__ import annotations

from typing import Any

PLAN_KEYS = ("schema_version", "id", "topic", "issues", "research_summary", "created_at")


ISSUE_KEYS = ("id", "title", "status", "decision", "how_agents", "how_summary", "how_agent_ids")


TASKS_KEYS = ("schema_version", "goal", "decisions", "tasks")


TASK_KEYS = (
    "id", "title", "context", "approach", "acceptance", "risk", "status", "deps", "plan_issue", "owner",
    "owner_agent_id", "owner_reuse_policy", "created_at",
)  # fmt: skip


def ordered(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return known keys first, in their order, and then the others in their own order."""
    known = {key: value[key] for key in keys if key in value}
    return {**known, **{key: member for key, member in value.items() if key not in known}}


def ordered_plan(plan: Any) -> Any:
    return {**ordered(plan, PLAN_KEYS), "issues": [ordered(issue, ISSUE_KEYS) for issue in plan["issues"]]}


def ordered_tasks(tasks: Any) -> Any:
    return {**ordered(tasks, TASKS_KEYS), "tasks": [ordered(row, TASK_KEYS) for row in tasks["tasks"]]}


def summary(cycle: Any) -> Any:
    out = {"completed_at": cycle["completed_at"], "branch": cycle["branch"], "task_count": len(cycle["tasks"])}
    if cycle["plan"] is not None:
        decided = [issue for issue in cycle["plan"]["issues"] if issue["status"] == "decided"]
        out["topic"] = cycle["plan"]["topic"]
        out["decisions"] = [{"title": issue["title"], "decision": issue["decision"]} for issue in decided]
    return out
