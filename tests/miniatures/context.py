"""Servers that are wrong about context and about the branch."""

from __future__ import annotations

from nexus_mcp.server.app import Answer
from tests.miniatures.base import Call, Json, Miniature, answering, error, load, without

_CONTEXT = ("context",)
_BRANCH = ("context", "task_close")


def _last_part(value: Json, _: Call) -> Json:
    return {**value, "branch": value["branch"].rsplit("/", 1)[-1]}


def _hash(value: Json, call: Call) -> Json:
    return (
        {**value, "branch": (call.root / ".git" / "HEAD").read_text().strip()} if value["branch"] == "HEAD" else value
    )


def _main(value: Json, _: Call) -> Json:
    return {**value, "branch": "main" if value["branch"] == "_default" else value["branch"]}


def _remembered(value: Json, call: Call) -> Json:
    return {**value, "branch": call.memory.setdefault("branch", value["branch"])}


def fails_on_a_broken_list(call: Call) -> Answer:
    try:
        tasks = load(call.tasks)
        broken = tasks is not None and not {"goal", "decisions", "tasks"} <= set(tasks)
    except ValueError:
        broken = True
    return error("tasks.json cannot be read") if broken else call.right()


def _active_with_a_plan(value: Json, call: Call) -> Json:
    return {**value, "activeMode": "plan"} if value["activeMode"] is None and call.plan.exists() else value


def _open_pending(value: Json, _: Call) -> Json:
    if "tasksSummary" not in value:
        return value
    summary = value["tasksSummary"]
    return {**value, "tasksSummary": {**summary, "pending": summary["total"] - summary["completed"]}}


def _decided(value: Json, call: Call) -> Json:
    issues = (load(call.plan) or {"issues": []})["issues"]
    return {**value, "decisions": [issue["decision"] for issue in issues if "decision" in issue]}


MINIATURES = (
    Miniature("branch-last-part", "The branch feature/x is reported as x.", _BRANCH, answering(_last_part)),
    Miniature("branch-hash", "A detached HEAD is reported as its hash.", _BRANCH, answering(_hash)),
    Miniature("branch-main-without-git", "Without git the branch is reported as main.", _BRANCH, answering(_main)),
    Miniature("branch-remembered", "The branch is read only once.", _BRANCH, answering(_remembered)),
    Miniature("context-fails-on-broken", "context fails on a broken tasks.json.", _CONTEXT, fails_on_a_broken_list),
    Miniature("context-mode-plan", "context knows a mode plan.", _CONTEXT, answering(_active_with_a_plan)),
    Miniature(
        "context-always-goal",
        "context answers with an empty goal when there is no list.",
        _CONTEXT,
        answering(lambda value, _: {"goal": "", **value}),
    ),
    Miniature(
        "context-open-pending", "context counts tasks in progress as pending.", _CONTEXT, answering(_open_pending)
    ),
    Miniature("context-decisions-of-plan", "context gives the decisions of the plan.", _CONTEXT, answering(_decided)),
    Miniature(
        "context-drops-null-mode",
        "context leaves activeMode out when there is no list.",
        _CONTEXT,
        answering(lambda value, _: value if value["activeMode"] else without(value, "activeMode")),
    ),
)
