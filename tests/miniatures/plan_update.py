"""Servers that are wrong about plan_update."""

from __future__ import annotations

from nexus_mcp.server.app import Answer
from tests.miniatures.base import (
    Call,
    Json,
    Miniature,
    answering,
    error,
    failed,
    load,
    save,
    saving,
    shown,
    without,
)

ADVICE = ("how_agents", "how_summary", "how_agent_ids")


def _issue(plan: Json, number: Json) -> Json:
    return next((issue for issue in plan["issues"] if issue["id"] == number), None)


def _added_as(number: int, call: Call, answer: Answer) -> Answer:
    """Replace the id of an added issue by `number`, in the file and in the answer."""
    plan = load(call.plan)
    plan["issues"][-1]["id"] = number
    save(call.plan, plan)
    value = answer.result["structuredContent"]
    return shown(answer, {**value, "issue": {**value["issue"], "id": number}})


def counts_for_an_id(call: Call) -> Answer:
    answer = call.right()
    adds = call.arguments.get("action") == "add" and not failed(answer)
    return _added_as(len(load(call.plan)["issues"]), call, answer) if adds else answer


def fills_gaps(call: Call) -> Answer:
    answer = call.right()
    if call.arguments.get("action") != "add" or failed(answer):
        return answer
    taken = {issue["id"] for issue in load(call.plan)["issues"][:-1]}
    return _added_as(next(n for n in range(1, len(taken) + 2) if n not in taken), call, answer)


def remembers_removed_ids(call: Call) -> Answer:
    before = load(call.plan)
    highest = max((issue["id"] for issue in before["issues"]), default=0) if before else 0
    call.memory["highest"] = max(call.memory.get("highest", 0), highest)
    answer = call.right()
    if call.arguments.get("action") != "add" or failed(answer):
        return answer
    call.memory["highest"] += 1
    return _added_as(call.memory["highest"], call, answer)


def _renumbered(plan: Json, call: Call) -> Json:
    if call.arguments["action"] != "remove":
        return plan
    return {**plan, "issues": [{**issue, "id": number} for number, issue in enumerate(plan["issues"], 1)]}


def keeps_the_decision(call: Call) -> Answer:
    before = load(call.plan)
    answer = call.right()
    if call.arguments.get("action") == "reopen" and not failed(answer):
        number, plan = answer.result["structuredContent"]["issue"]["id"], load(call.plan)
        decision = _issue(before, number).get("decision")
        if decision is not None:
            _issue(plan, number)["decision"] = decision
            save(call.plan, plan)
    return answer


def _reopened_bare(plan: Json, call: Call) -> Json:
    if call.arguments["action"] != "reopen":
        return plan
    number = int(float(call.arguments["issue_id"]))
    return {**plan, "issues": [without(i, *ADVICE) if i["id"] == number else i for i in plan["issues"]]}


def _edited_bare(plan: Json, call: Call) -> Json:
    if call.arguments["action"] != "edit":
        return plan
    number = int(float(call.arguments["issue_id"]))
    return {
        **plan,
        "issues": [{**without(i, "decision"), "status": "pending"} if i["id"] == number else i for i in plan["issues"]],
    }


def _edit_with_status(value: Json, call: Call) -> Json:
    if not value.get("edited"):
        return value
    return {**value, "issue": {**value["issue"], "status": _issue(load(call.plan), value["issue"]["id"])["status"]}}


def _without_status(value: Json, _: Call) -> Json:
    return {**value, "issue": without(value["issue"], "status")}


def _with_title(value: Json, _: Call) -> Json:
    return {**value, "issue": {"title": "", **value["issue"]}}


def looks_at_the_action_first(call: Call) -> Answer:
    known = call.arguments.get("action") in ("add", "remove", "edit", "reopen", None)
    return call.right() if known else error("Unknown action")


def looks_at_the_title_first(call: Call) -> Answer:
    if call.arguments.get("action") == "add" and not call.arguments.get("title"):
        return error("title is required for add")
    return call.right()


def takes_a_blank_title(call: Call) -> Answer:
    title = call.arguments.get("title")
    if not isinstance(title, str) or title.strip():
        return call.right()
    answer = call.right({**call.arguments, "title": "blank"})
    if not failed(answer):
        plan = load(call.plan)
        for issue in plan["issues"]:
            issue["title"] = title if issue["title"] == "blank" else issue["title"]
        save(call.plan, plan)
    return answer


_UPDATE = ("plan_update",)

MINIATURES = (
    Miniature(
        "update-counts-for-an-id",
        "plan_update add takes the number of issues for the new id.",
        _UPDATE,
        counts_for_an_id,
    ),
    Miniature("update-fills-gaps", "plan_update add takes the lowest id that is free.", _UPDATE, fills_gaps),
    Miniature(
        "update-remembers-removed-ids",
        "plan_update add continues after the highest id ever used, even if that issue was removed.",
        _UPDATE,
        remembers_removed_ids,
    ),
    Miniature(
        "update-remove-renumbers",
        "plan_update remove renumbers the other issues.",
        _UPDATE,
        saving(lambda call: call.plan, _renumbered),
    ),
    Miniature(
        "update-reopen-keeps-decision",
        "plan_update reopen leaves the decision in the file.",
        _UPDATE,
        keeps_the_decision,
    ),
    Miniature(
        "update-reopen-drops-advice",
        "plan_update reopen drops the how_* fields with the decision.",
        _UPDATE,
        saving(lambda call: call.plan, _reopened_bare),
    ),
    Miniature(
        "update-edit-loses-decision",
        "plan_update edit takes the issue's decision back.",
        _UPDATE,
        saving(lambda call: call.plan, _edited_bare),
    ),
    Miniature(
        "update-edit-extra-field",
        "plan_update edit answers with the issue's status, too.",
        _UPDATE,
        answering(_edit_with_status),
    ),
    Miniature(
        "update-answers-without-status",
        "plan_update leaves the status out of the issue in its answer.",
        _UPDATE,
        answering(_without_status),
    ),
    Miniature(
        "update-remove-extra-field",
        "plan_update remove answers with an empty title, too.",
        _UPDATE,
        answering(_with_title),
    ),
    Miniature(
        "update-action-before-plan",
        "plan_update reports an unknown action before a missing plan.",
        _UPDATE,
        looks_at_the_action_first,
    ),
    Miniature(
        "update-title-before-plan",
        "plan_update reports a missing title before a missing plan.",
        _UPDATE,
        looks_at_the_title_first,
    ),
    Miniature("update-takes-blank-title", "plan_update accepts a blank title.", _UPDATE, takes_a_blank_title),
)
