"""plan_update: add, remove, edit or reopen an issue of the open plan."""

from __future__ import annotations

from nexus_mcp.errors import ToolError
from nexus_mcp.state import plan, shapes
from nexus_mcp.store.paths import PLAN
from nexus_mcp.store.transaction import Transaction
from nexus_mcp.tools.definition import ID, PLAN_CHANGE, Tool, ToolContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # (the changed plan, the changed fields of the issue, the answer)
    Change = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def _add(current: dict[str, Any], _: int | None, title: str) -> Change:
    if not title:
        raise ToolError("title is required for add")
    changed, issue = plan.add(current, title)
    return changed, issue, {"added": True, "issue": _select_fields(issue, "id", "title", "status")}


def _remove(current: dict[str, Any], issue_id: int | None, _: str) -> Change:
    if issue_id is None:
        raise ToolError("issue_id is required for remove")
    gone = plan.find(current, issue_id)
    return plan.remove(current, issue_id), {}, {"removed": True, "issue": _select_fields(gone, "id")}


def _edit(current: dict[str, Any], issue_id: int | None, title: str) -> Change:
    if issue_id is None or not title:
        raise ToolError("issue_id and title are required for edit")
    changed, issue = plan.edit(current, issue_id, title)
    return changed, {"title": title}, {"edited": True, "issue": _select_fields(issue, "id", "title")}


def _reopen(current: dict[str, Any], issue_id: int | None, _: str) -> Change:
    if issue_id is None:
        raise ToolError("issue_id is required for reopen")
    changed, issue = plan.reopen(current, issue_id)
    return (
        changed,
        {"status": issue["status"]},
        {"reopened": True, "issue": _select_fields(issue, "id", "title", "status")},
    )


ACTIONS: dict[str, Callable[[dict[str, Any], int | None, str], Change]] = {
    "add": _add,
    "remove": _remove,
    "edit": _edit,
    "reopen": _reopen,
}


def _select_fields(issue: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: issue[name] for name in names}


def run(ctx: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Apply one action. Check the plan first, then the action, then the parameters of the action."""
    title = arguments.get("title", "")

    def change(now: Transaction) -> dict[str, Any]:
        if now.plan is None:
            raise ToolError(plan.NO_PLAN)
        action = ACTIONS.get(arguments["action"])
        if action is None:
            raise ToolError("Unknown action")
        changed, new, shown = action(now.plan, arguments.get("issue_id"), title if title.strip() else "")
        now.put(PLAN, changed, shapes.ISSUE, new)
        now.what = f"{arguments['action']}s issue {shown['issue']['id']}"
        return shown

    return ctx.store.change(change, ctx.by)


TOOL = Tool(
    name="plan_update",
    title="Change the plan's issues",
    summary="Adds, removes, renames or reopens a question.",
    description=(
        "Change the issues of the open plan: add (title), edit (issue_id, title), remove or reopen (issue_id). Reopen "
        'makes a decided issue pending again. A removed issue cannot be brought back; others keep their ids. "No '
        'active plan session": call plan_start first. "Issue <id> not found": see plan_status.'
    ),
    parameters={
        "action": {"type": "string", "enum": list(ACTIONS), "description": "What to do."},
        "issue_id": {**ID, "description": "For edit, remove and reopen."},
        "title": {"type": "string", "description": "The question, for add and edit."},
    },
    required=("action",),
    own_checks=("action",),
    output=answer(
        {
            "issue": {
                "type": "object",
                "properties": {"id": ID, "title": {"type": "string"}, "status": {"type": "string"}},
                "required": ["id"],
                "additionalProperties": False,
                "description": "The issue: id; after add and reopen also title and status; after edit also title.",
            }
        },
        {
            name: {"type": "boolean", "description": f"True, after {action}."}
            for name, action in (("added", "add"), ("removed", "remove"), ("edited", "edit"), ("reopened", "reopen"))
        },
    ),
    run=run,
    classes=(PLAN_CHANGE,),
    destructive=True,
)
