"""Servers that are wrong about task_add."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from nexus_mcp.server.app import Answer
from tests.miniatures.base import (
    Call,
    Json,
    Miniature,
    asking,
    error,
    failed,
    load,
    save,
    shown,
    without,
)

_ADD = ("task_add",)
_OPTIONAL = ("approach", "acceptance", "risk", "plan_issue", "owner", "owner_agent_id", "owner_reuse_policy")


def _as(call: Call, changes: dict[str, Json]) -> Answer:
    """Replace fields of the new task, in the file and in the answer."""
    answer = call.right()
    if failed(answer):
        return answer
    tasks = load(call.tasks)
    tasks["tasks"][-1].update(changes)
    save(call.tasks, tasks)
    return shown(answer, {"task": {**answer.result["structuredContent"]["task"], **changes}})


def counts_for_an_id(call: Call) -> Answer:
    before = load(call.tasks)
    return _as(call, {"id": len(before["tasks"]) + 1 if before else 1})


def counts_from_zero(call: Call) -> Answer:
    before = load(call.tasks)
    return _as(call, {"id": max((task["id"] for task in before["tasks"]), default=-1) + 1 if before else 0})


def goes_on_from_the_history(call: Call) -> Answer:
    cycles = (load(call.history) or {"cycles": []})["cycles"]
    archived = [task["id"] for cycle in cycles for task in cycle.get("tasks", ())]
    before = [task["id"] for task in (load(call.tasks) or {"tasks": []})["tasks"]]
    return _as(call, {"id": 1 + max(archived + before, default=0)})


def writes_nulls(call: Call) -> Answer:
    return _as(call, {name: None for name in _OPTIONAL if call.arguments.get(name) is None})


def starts_at_once(call: Call) -> Answer:
    return _as(call, {"status": "in_progress"})


def _now() -> datetime:
    return datetime.now(UTC)


def stamps_with_an_offset(call: Call) -> Answer:
    return _as(call, {"created_at": _now().astimezone(timezone(timedelta(hours=2))).isoformat(timespec="milliseconds")})


def stamps_without_a_zone(call: Call) -> Answer:
    return _as(call, {"created_at": _now().replace(tzinfo=None).isoformat(timespec="milliseconds")})


def stamps_with_a_number(call: Call) -> Answer:
    return _as(call, {"created_at": _now().timestamp()})


def _kept(call: Call, name: str, value: Json) -> Answer:
    """Replace a field of the whole list in the file."""
    answer = call.right()
    if not failed(answer):
        save(call.tasks, {**load(call.tasks), name: value})
    return answer


def takes_a_blank_goal(call: Call) -> Answer:
    goal = call.arguments.get("goal")
    return _kept(call, "goal", goal) if isinstance(goal, str) and not goal.strip() else call.right()


def keeps_the_first_goal(call: Call) -> Answer:
    before = load(call.tasks)
    return _kept(call, "goal", before["goal"]) if before and before["goal"] else call.right()


def replaces_decisions(call: Call) -> Answer:
    decisions = call.arguments.get("decisions")
    return _kept(call, "decisions", decisions) if isinstance(decisions, list) else call.right()


def keeps_decisions_apart(call: Call) -> Answer:
    before, given = load(call.tasks), call.arguments.get("decisions")
    if before and isinstance(given, list):
        return _kept(call, "decisions", list(dict.fromkeys([*before["decisions"], *given])))
    return call.right()


def checks_deps(call: Call) -> Answer:
    known = [task["id"] for task in (load(call.tasks) or {"tasks": []})["tasks"]]
    deps = call.arguments.get("deps")
    unknown = [dep for dep in deps if dep not in known] if isinstance(deps, list) else []
    return error(f"deps names tasks that do not exist: {unknown}") if unknown else call.right()


def checks_the_plan_issue(call: Call) -> Answer:
    issues = (load(call.plan) or {"issues": []})["issues"]
    wanted = call.arguments.get("plan_issue")
    return call.right() if wanted is None or wanted in [i["id"] for i in issues] else error(f"Issue {wanted} not found")


def leaves_deps_out(call: Call) -> Answer:
    answer = call.right()
    if failed(answer) or call.arguments.get("deps"):
        return answer
    tasks = load(call.tasks)
    del tasks["tasks"][-1]["deps"]
    save(call.tasks, tasks)
    return shown(answer, {"task": without(answer.result["structuredContent"]["task"], "deps")})


def answers_with_the_list(call: Call) -> Answer:
    answer = call.right()
    return (
        answer
        if failed(answer)
        else shown(answer, {**answer.result["structuredContent"], "goal": load(call.tasks)["goal"]})
    )


def _drops(name: str) -> Miniature:
    return Miniature(
        f"add-drops-{name.replace('_', '-')}",
        f"task_add does not write {name}.",
        _ADD,
        asking(lambda given: without(given, name)),
    )


MINIATURES = (
    Miniature("add-counts-for-an-id", "task_add takes the number of tasks for the new id.", _ADD, counts_for_an_id),
    Miniature("add-counts-from-zero", "task_add numbers tasks from 0.", _ADD, counts_from_zero),
    Miniature(
        "add-goes-on-from-history",
        "task_add continues the numbers of the tasks in the history.",
        _ADD,
        goes_on_from_the_history,
    ),
    Miniature("add-writes-nulls", "task_add writes null for absent arguments.", _ADD, writes_nulls),
    Miniature("add-starts-at-once", "task_add makes tasks that are in progress.", _ADD, starts_at_once),
    Miniature("add-stamps-offset", "task_add writes its time with the zone +02:00.", _ADD, stamps_with_an_offset),
    Miniature("add-stamps-no-zone", "task_add writes its time without a zone.", _ADD, stamps_without_a_zone),
    Miniature("add-stamps-number", "task_add writes its time as a number.", _ADD, stamps_with_a_number),
    Miniature("add-blank-goal-replaces", "task_add lets a blank goal replace the goal.", _ADD, takes_a_blank_goal),
    Miniature("add-keeps-first-goal", "task_add never replaces the first goal.", _ADD, keeps_the_first_goal),
    Miniature("add-replaces-decisions", "task_add replaces decisions instead of appending.", _ADD, replaces_decisions),
    Miniature(
        "add-merges-decisions", "task_add leaves out decisions that the list has already.", _ADD, keeps_decisions_apart
    ),
    Miniature("add-checks-deps", "task_add refuses deps that do not exist yet.", _ADD, checks_deps),
    Miniature(
        "add-checks-plan-issue",
        "task_add refuses a plan_issue that is not in the plan.",
        _ADD,
        checks_the_plan_issue,
    ),
    Miniature("add-leaves-deps-out", "task_add writes no deps without the argument.", _ADD, leaves_deps_out),
    Miniature("add-extra-field", "task_add answers with the goal, too.", _ADD, answers_with_the_list),
    _drops("deps"),
    _drops("approach"),
    _drops("acceptance"),
    _drops("risk"),
    _drops("plan_issue"),
    _drops("goal"),
    _drops("decisions"),
    _drops("owner"),
    _drops("owner_agent_id"),
    _drops("owner_reuse_policy"),
)
