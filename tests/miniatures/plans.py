"""Servers that are wrong about plans: plan_start, plan_status, plan_update, plan_decide."""

from __future__ import annotations

from nexus_mcp.server.app import Answer
from tests.miniatures.base import (
    Call,
    Json,
    Miniature,
    answering,
    asking,
    error,
    failed,
    load,
    save,
    saving,
    shown,
    without,
)


def forgets_to_archive(call: Call) -> Answer:
    before = call.history.read_bytes() if call.history.exists() else None
    answer = call.right()
    if before is not None:
        call.history.write_bytes(before)
    elif not failed(answer):
        call.history.unlink(missing_ok=True)
    return answer


def _numbered(call: Call, number: Json) -> Answer:
    """Replace the id of a started plan by `number`, in the file and in the answer."""
    answer = call.right()
    if failed(answer):
        return answer
    save(call.plan, {**load(call.plan), "id": number})
    return shown(answer, {**answer.result["structuredContent"], "plan_id": number})


def always_plan_one(call: Call) -> Answer:
    return _numbered(call, 1)


def reuses_the_open_id(call: Call) -> Answer:
    before = load(call.plan)
    return _numbered(call, before["id"]) if before else call.right()


def archives_tasks(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer) and answer.result["structuredContent"]["previousArchived"] and call.tasks.exists():
        history = load(call.history)
        history["cycles"][-1]["tasks"] = load(call.tasks)["tasks"]
        save(call.history, history)
    return answer


def deletes_tasks(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        call.tasks.unlink(missing_ok=True)
    return answer


def _counted_from_zero(plan: Json, _: Call) -> Json:
    return {**plan, "issues": [{**issue, "id": issue["id"] - 1} for issue in plan["issues"]]}


def _without_empty_summary(plan: Json, _: Call) -> Json:
    return plan if plan["research_summary"] else without(plan, "research_summary")


def refuses_no_issues(call: Call) -> Answer:
    return error("issues must not be empty") if call.arguments.get("issues") == [] else call.right()


def _total_of_pending(value: Json, _: Call) -> Json:
    if value["active"]:
        value["summary"]["total"] = value["summary"]["pending"]
    return value


def _decided_are_pending(value: Json, _: Call) -> Json:
    if value["active"]:
        value["summary"] = {**value["summary"], "pending": value["summary"]["total"], "decided": 0}
    return value


MINIATURES = (
    Miniature(
        "start-forgets-to-archive",
        "plan_start says that it archived the open plan, and does not.",
        ("plan_start",),
        forgets_to_archive,
    ),
    Miniature("start-always-plan-one", "plan_start numbers every plan 1.", ("plan_start",), always_plan_one),
    Miniature(
        "start-reuses-the-open-id",
        "plan_start gives the new plan the id of the one that it archives.",
        ("plan_start",),
        reuses_the_open_id,
    ),
    Miniature(
        "start-archives-tasks",
        "plan_start puts the tasks into the cycle of the plan that it archives.",
        ("plan_start",),
        archives_tasks,
    ),
    Miniature("start-deletes-tasks", "plan_start deletes tasks.json.", ("plan_start",), deletes_tasks),
    Miniature(
        "start-counts-from-zero",
        "plan_start numbers issues from 0.",
        ("plan_start",),
        saving(lambda call: call.plan, _counted_from_zero),
    ),
    Miniature(
        "start-wrong-issue-count",
        "plan_start answers with an issueCount that is one too high.",
        ("plan_start",),
        answering(lambda value, _: {**value, "issueCount": value["issueCount"] + 1}),
    ),
    Miniature(
        "start-says-nothing-archived",
        "plan_start answers previousArchived false even when it archived a plan.",
        ("plan_start",),
        answering(lambda value, _: {**value, "previousArchived": False}),
    ),
    Miniature(
        "start-drops-empty-summary",
        "plan_start leaves an empty research_summary out of plan.json.",
        ("plan_start",),
        saving(lambda call: call.plan, _without_empty_summary),
    ),
    Miniature(
        "start-needs-no-summary",
        "plan_start accepts a missing research_summary as an empty one.",
        ("plan_start",),
        asking(lambda given: {"research_summary": "", **given}),
    ),
    Miniature(
        "start-refuses-no-issues", "plan_start refuses an empty list of issues.", ("plan_start",), refuses_no_issues
    ),
    Miniature(
        "start-extra-field",
        "plan_start answers with the issues, which no other server does.",
        ("plan_start",),
        answering(lambda value, call: {**value, "issues": load(call.plan)["issues"]}),
    ),
    Miniature(
        "status-extra-field",
        "plan_status answers with created_at, too.",
        ("plan_status",),
        answering(
            lambda value, call: {**value, "created_at": load(call.plan)["created_at"]} if value["active"] else value
        ),
    ),
    Miniature(
        "status-tells-of-no-plan",
        "plan_status answers with an empty list of issues when there is no plan.",
        ("plan_status",),
        answering(lambda value, _: value if value["active"] else {**value, "issues": []}),
    ),
    Miniature(
        "status-total-of-pending",
        "plan_status counts only the pending issues into its total.",
        ("plan_status",),
        answering(_total_of_pending),
    ),
    Miniature(
        "status-decided-are-pending",
        "plan_status counts decided issues as pending.",
        ("plan_status",),
        answering(_decided_are_pending),
    ),
    Miniature(
        "status-drops-summary",
        "plan_status leaves research_summary out.",
        ("plan_status",),
        answering(lambda value, _: without(value, "research_summary")),
    ),
)
