"""Servers that are wrong about plan_decide."""

from __future__ import annotations

from nexus_mcp.server.app import Answer
from tests.miniatures.base import (
    Call,
    Json,
    Miniature,
    answering,
    asking,
    load,
    saving,
    without,
)

ADVICE = ("how_agents", "how_summary", "how_agent_ids")


def _issue(plan: Json, number: Json) -> Json:
    return next((issue for issue in plan["issues"] if issue["id"] == number), None)


def appends_decisions(call: Call) -> Answer:
    plan, number = load(call.plan), call.arguments.get("issue_id")
    old = (_issue(plan, number) or {}).get("decision") if plan else None
    decision = call.arguments.get("decision")
    if isinstance(old, str) and isinstance(decision, str):
        return call.right({**call.arguments, "decision": f"{old}\n{decision}"})
    return call.right()


def _decided_bare(plan: Json, call: Call) -> Json:
    issue = _issue(plan, int(float(call.arguments["issue_id"])))
    for name in ADVICE:
        if name not in call.arguments:
            issue.pop(name, None)
    return plan


def _nulls(plan: Json, call: Call) -> Json:
    issue = _issue(plan, int(float(call.arguments["issue_id"])))
    for name in ADVICE:
        issue.setdefault(name, None)
    return plan


def _all_remain(value: Json, call: Call) -> Json:
    lines = [{k: i[k] for k in ("id", "title", "status")} for i in load(call.plan)["issues"]]
    return value if value["allComplete"] else {**value, "remaining": lines}


def _complete_early(value: Json, _: Call) -> Json:
    if len(value.get("remaining", ())) != 1:
        return value
    return {**without(value, "remaining"), "allComplete": True, "message": "All issues are decided: task_add."}


def _whole_remaining(value: Json, call: Call) -> Json:
    if value["allComplete"]:
        return value
    return {**value, "remaining": [i for i in load(call.plan)["issues"] if i["status"] == "pending"]}


_DECIDE = ("plan_decide",)

MINIATURES = (
    *(
        Miniature(
            f"decide-drops-{name.replace('_', '-')}",
            f"plan_decide does not write {name}.",
            _DECIDE,
            asking(lambda given, name=name: without(given, name)),  # type: ignore[misc]
        )
        for name in ADVICE
    ),
    Miniature("decide-again-appends", "plan_decide adds a second decision to the first.", _DECIDE, appends_decisions),
    Miniature(
        "decide-again-drops-advice",
        "plan_decide drops the how_* fields that a second call does not give.",
        _DECIDE,
        saving(lambda call: call.plan, _decided_bare),
    ),
    Miniature(
        "decide-nulls",
        "plan_decide writes null for how_* fields that were not given.",
        _DECIDE,
        saving(lambda call: call.plan, _nulls),
    ),
    Miniature("decide-all-remain", "plan_decide lists decided issues as remaining.", _DECIDE, answering(_all_remain)),
    Miniature(
        "decide-complete-early",
        "plan_decide says that all is decided when one issue is left.",
        _DECIDE,
        answering(_complete_early),
    ),
    Miniature(
        "decide-whole-remaining",
        "plan_decide gives the remaining issues with all their fields.",
        _DECIDE,
        answering(_whole_remaining),
    ),
    Miniature(
        "decide-answers-with-id",
        "plan_decide answers with the issue's id in place of its title.",
        _DECIDE,
        answering(lambda value, call: {**value, "issue": int(float(call.arguments["issue_id"]))}),
    ),
    Miniature(
        "decide-always-lists",
        "plan_decide answers with an empty remaining when all is decided.",
        _DECIDE,
        answering(lambda value, _: {"remaining": [], **value}),
    ),
    Miniature(
        "decide-no-next-step",
        "plan_decide answers without a message when all is decided.",
        _DECIDE,
        answering(lambda value, _: without(value, "message")),
    ),
)
