"""The contract's changes by the writing tools, computed from the values of readable files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.reliability.suites.files.answers import BRANCH
from tests.reliability.suites.files.projects import PLAN, TASKS

Json = Any
Values = dict[str, Json]


@dataclass
class Wanted:
    """The expected result of a call: fields of its answer, values of changed files (None: removed), and the cycle.

    `error` is a message of the contract; then nothing changes.
    """

    answer: Json = field(default_factory=dict)
    files: Values = field(default_factory=dict)
    cycle: Json = None
    error: str = ""


# Tool → the kinds of files that it needs.
NEEDS = {
    "plan_start": ("plan", "history"),
    "plan_update": ("plan",),
    "plan_decide": ("plan",),
    "task_add": ("tasks",),
    "task_update": ("tasks",),
    "task_close": ("plan", "tasks", "history"),
}
CALLS: tuple[tuple[str, Json], ...] = (
    ("plan_start", {"topic": "New", "issues": ["a", "b"], "research_summary": ""}),
    ("plan_update", {"action": "add", "title": "One more"}),
    ("plan_update", {"action": "remove", "issue_id": 1}),
    ("plan_update", {"action": "edit", "issue_id": 2, "title": "Other"}),
    ("plan_update", {"action": "reopen", "issue_id": 1}),
    ("plan_decide", {"issue_id": 1, "decision": "So be it", "how_agents": ["a"]}),
    ("task_add", {"title": "Another", "context": "Because", "deps": [1], "goal": "Goal", "decisions": ["d"]}),
    ("task_add", {"title": "Another", "context": "Because"}),
    ("task_update", {"id": 1, "status": "completed"}),
    ("task_update", {"id": 2, "status": "in_progress"}),
    ("task_close", {}),
)
_GUIDANCE = ("message",)  # fields whose text the contract leaves open
FREE = frozenset(_GUIDANCE)


def wanted(tool: str, given: Json, values: Values, now: str) -> Wanted:
    """Return the expected result of this call for these `values` (plan, tasks and history; None if absent)."""
    return _TOOLS[tool](given, values, now)


def _plan_start(given: Json, values: Values, now: str) -> Wanted:
    plan = values["plan"]
    archived = [c.get("plan") for c in (values["history"] or {"cycles": []})["cycles"]]
    ids: list[Json] = [p.get("id") for p in [*archived, plan] if isinstance(p, dict)]
    highest = max((int(id) for id in ids if _is_integer(id)), default=0)
    issues = [{"id": n, "title": title, "status": "pending"} for n, title in enumerate(given["issues"], 1)]
    number = max(highest, 0) + 1
    started = {"id": number, "topic": given["topic"], "issues": issues, "research_summary": "", "created_at": now}
    answer = {"created": True, "plan_id": number, "topic": given["topic"], "issueCount": len(issues)}
    cycle = None if plan is None else _cycle(plan, [])
    return Wanted({**answer, "previousArchived": plan is not None}, {PLAN: started}, cycle)


def _plan_update(given: Json, values: Values, now: str) -> Wanted:
    plan = values["plan"]
    if plan is None:
        return Wanted(error="No active plan session")
    issues, action = plan["issues"], given["action"]
    if action == "add":
        number = 1 + max((int(issue["id"]) for issue in issues), default=0)
        new = {"id": number, "title": given["title"], "status": "pending"}
        return Wanted({"added": True, "issue": new}, {PLAN: {**plan, "issues": [*issues, new]}})
    at = _index(issues, given["issue_id"])
    if at is None:
        return Wanted(error=f"Issue {given['issue_id']} not found")
    old = issues[at]
    if action == "remove":
        return Wanted({"removed": True, "issue": {"id": old["id"]}}, {PLAN: {**plan, "issues": _put(issues, at)}})
    if action == "edit":
        new = {**old, "title": given["title"]}
        shown = {"id": new["id"], "title": new["title"]}
        return Wanted({"edited": True, "issue": shown}, {PLAN: {**plan, "issues": _put(issues, at, new)}})
    new = {**{name: value for name, value in old.items() if name != "decision"}, "status": "pending"}
    shown = {name: new[name] for name in ("id", "title", "status")}
    return Wanted({"reopened": True, "issue": shown}, {PLAN: {**plan, "issues": _put(issues, at, new)}})


def _plan_decide(given: Json, values: Values, now: str) -> Wanted:
    plan = values["plan"]
    if plan is None:
        return Wanted(error="No active plan session")
    at = _index(plan["issues"], given["issue_id"])
    if at is None:
        return Wanted(error=f"Issue {given['issue_id']} not found")
    given = {name: value for name, value in given.items() if name != "issue_id"}
    issues = _put(plan["issues"], at, {**plan["issues"][at], **given, "status": "decided"})
    left = [{n: i[n] for n in ("id", "title", "status")} for i in issues if i["status"] == "pending"]
    answer = {"decided": True, "issue": issues[at]["title"], "allComplete": not left}
    more = {"remaining": left} if left else {"message": None}
    return Wanted({**answer, **more}, {PLAN: {**plan, "issues": issues}})


def _task_add(given: Json, values: Values, now: str) -> Wanted:
    tasks = values["tasks"] or {"goal": "", "decisions": [], "tasks": []}
    number = 1 + max((int(task["id"]) for task in tasks["tasks"]), default=0)
    own = {name: value for name, value in given.items() if name not in ("goal", "decisions")}
    new = {"id": number, "status": "pending", "deps": [], **own, "created_at": now}
    changed = {
        **tasks,
        "goal": given.get("goal") or tasks["goal"],
        "decisions": [*tasks["decisions"], *given.get("decisions", [])],
        "tasks": [*tasks["tasks"], new],
    }
    return Wanted({"task": new}, {TASKS: changed})


def _task_update(given: Json, values: Values, now: str) -> Wanted:
    tasks = values["tasks"]
    if tasks is None:
        return Wanted(error="tasks.json not found")
    at = _index(tasks["tasks"], given["id"])
    if at is None:
        return Wanted(error=f"Task id {given['id']} not found")
    new = {**tasks["tasks"][at], "status": given["status"]}
    return Wanted({"task": new}, {TASKS: {**tasks, "tasks": _put(tasks["tasks"], at, new)}})


def _task_close(given: Json, values: Values, now: str) -> Wanted:
    plan, tasks = values["plan"], values["tasks"]
    items, goal = (tasks["tasks"], tasks["goal"]) if tasks else ([], "")
    decided = sum(issue["status"] == "decided" for issue in plan["issues"]) if plan else 0
    topics = [text for text in (plan["topic"] if plan else "", goal) if text]
    answer = {
        "closed": True,
        "branch": BRANCH,
        "archived": {"plan": plan is not None, "decisions": decided, "tasks": len(items)},
        "deleted": [name for name, value in (("plan.json", plan), ("tasks.json", tasks)) if value is not None],
        "total_cycles": len((values["history"] or {"cycles": []})["cycles"]) + 1,
        "memoryHint": {"taskCount": len(items), "decisionCount": decided, "cycleTopics": topics},
    }
    gone = {path: None for path, value in ((PLAN, plan), (TASKS, tasks)) if value is not None}
    return Wanted(answer, gone, _cycle(plan, items))


_TOOLS: dict[str, Callable[[Json, Values, str], Wanted]] = {
    "plan_start": _plan_start,
    "plan_update": _plan_update,
    "plan_decide": _plan_decide,
    "task_add": _task_add,
    "task_update": _task_update,
    "task_close": _task_close,
}


def _cycle(plan: Json, tasks: Json) -> Json:
    return {"schema_version": "0.5", "branch": BRANCH, "plan": plan, "tasks": tasks}


def _index(items: Json, id: int) -> int | None:
    return next((at for at, item in enumerate(items) if item["id"] == id), None)


def _put(items: Json, at: int, *instead: Json) -> Json:
    return [*items[:at], *instead, *items[at + 1 :]]


def _is_integer(value: Json) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
