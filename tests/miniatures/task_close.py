"""Servers that are wrong about task_close."""

from __future__ import annotations

import json

from nexus_mcp.server.app import Answer
from tests.miniatures.base import Call, Json, Miniature, answering, error, failed, load, save, saving, without

_CLOSE = ("task_close",)


def leaves_tasks(call: Call) -> Answer:
    before = call.tasks.read_bytes() if call.tasks.exists() else None
    answer = call.right()
    if before is not None and not failed(answer):
        call.tasks.write_bytes(before)
    return answer


def leaves_the_plan(call: Call) -> Answer:
    before = call.plan.read_bytes() if call.plan.exists() else None
    answer = call.right()
    if before is not None and not failed(answer):
        call.plan.write_bytes(before)
    return answer


def archives_nothing(call: Call) -> Answer:
    before = call.history.read_bytes() if call.history.exists() else b'{\n  "cycles": []\n}\n'
    answer = call.right()
    if not failed(answer):
        call.history.write_bytes(before)
    return answer


def refuses_nothing_open(call: Call) -> Answer:
    return call.right() if call.plan.exists() or call.tasks.exists() else error("Nothing to close")


def refuses_open_tasks(call: Call) -> Answer:
    tasks = (load(call.tasks) or {"tasks": []})["tasks"]
    return error("There are open tasks") if any(t["status"] != "completed" for t in tasks) else call.right()


def _newest(history: Json, **changes: Json) -> Json:
    return {**history, "cycles": [*history["cycles"][:-1], {**history["cycles"][-1], **changes}]}


def _only_completed(history: Json, _: Call) -> Json:
    return _newest(history, tasks=[t for t in history["cycles"][-1]["tasks"] if t["status"] == "completed"])


def _empty_plan(history: Json, _: Call) -> Json:
    return _newest(history, plan=history["cycles"][-1]["plan"] or {})


def _unversioned(history: Json, _: Call) -> Json:
    return {**history, "cycles": [*history["cycles"][:-1], without(history["cycles"][-1], "schema_version")]}


def keeps_the_goal(call: Call) -> Answer:
    goal = (load(call.tasks) or {"goal": ""})["goal"]
    answer = call.right()
    if not failed(answer):
        save(call.history, _newest(load(call.history), goal=goal))
    return answer


def puts_it_first(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        history = load(call.history)
        save(call.history, {**history, "cycles": [history["cycles"][-1], *history["cycles"][:-1]]})
    return answer


def _old_cycles_tidied(history: Json, _: Call) -> Json:
    known = ("schema_version", "completed_at", "branch", "plan", "tasks")
    return {**history, "cycles": [{k: c[k] for k in known if k in c} for c in history["cycles"]]}


def spells_anew(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        save(call.history, load(call.history))
    return answer


def turns_line_ends(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        call.history.write_bytes(call.history.read_bytes().replace(b"\r\n", b"\n"))
    return answer


def starts_over(call: Call) -> Answer:
    try:
        history = load(call.history)
        usable = history is None or isinstance(history["cycles"], list)
    except (ValueError, KeyError, TypeError):
        usable = False
    if not usable:
        save(call.history, {"cycles": []})
    return call.right()


def escapes(call: Call) -> Answer:
    answer = call.right()
    if not failed(answer):
        call.history.write_text(json.dumps(load(call.history), indent=2) + "\n")
    return answer


def _decisions(value: Json, count: int) -> Json:
    return {
        **value,
        "archived": {**value["archived"], "decisions": count},
        "memoryHint": {**value["memoryHint"], "decisionCount": count},
    }


def _all_issues(value: Json, call: Call) -> Json:
    plan = load(call.history)["cycles"][-1]["plan"]
    return _decisions(value, len(plan["issues"])) if plan else value


def counts_noted_decisions(call: Call) -> Answer:
    noted = len((load(call.tasks) or {"decisions": []})["decisions"])
    return answering(lambda value, _: _decisions(value, noted))(call)


def _hint(value: Json, **changes: Json) -> Json:
    return {**value, "memoryHint": {**value["memoryHint"], **changes}}


def names_empty_topics(call: Call) -> Answer:
    topic = (load(call.plan) or {"topic": ""})["topic"]
    goal = (load(call.tasks) or {"goal": ""})["goal"]
    return answering(lambda value, _: _hint(value, cycleTopics=[topic, goal]))(call)


def _completed_only(value: Json, call: Call) -> Json:
    tasks = load(call.history)["cycles"][-1]["tasks"]
    return _hint(value, taskCount=len([task for task in tasks if task["status"] == "completed"]))


def _kept(edit: Json) -> Json:
    return saving(lambda call: call.history, edit)


MINIATURES = (
    Miniature("close-leaves-tasks", "task_close leaves tasks.json behind.", _CLOSE, leaves_tasks),
    Miniature("close-leaves-plan", "task_close leaves plan.json behind.", _CLOSE, leaves_the_plan),
    Miniature("close-archives-nothing", "task_close deletes without archiving.", _CLOSE, archives_nothing),
    Miniature("close-refuses-nothing-open", "task_close fails when nothing is open.", _CLOSE, refuses_nothing_open),
    Miniature("close-refuses-open-tasks", "task_close fails while tasks are open.", _CLOSE, refuses_open_tasks),
    Miniature("close-completed-only", "task_close archives only completed tasks.", _CLOSE, _kept(_only_completed)),
    Miniature(
        "close-empty-plan",
        "task_close archives an empty object if there was no plan.",
        _CLOSE,
        _kept(_empty_plan),
    ),
    Miniature("close-no-version", "task_close writes cycles without schema_version.", _CLOSE, _kept(_unversioned)),
    Miniature("close-keeps-goal", "task_close puts the goal into the cycle.", _CLOSE, keeps_the_goal),
    Miniature("close-puts-it-first", "task_close puts the new cycle before the others.", _CLOSE, puts_it_first),
    Miniature(
        "close-tidies-old-cycles",
        "task_close drops the unknown fields of old cycles.",
        _CLOSE,
        _kept(_old_cycles_tidied),
    ),
    Miniature("close-spells-anew", "task_close rewrites the old cycles from their values.", _CLOSE, spells_anew),
    Miniature("close-turns-line-ends", "task_close changes the line ends of old cycles.", _CLOSE, turns_line_ends),
    Miniature("close-starts-over", "task_close overwrites a history that it cannot read.", _CLOSE, starts_over),
    Miniature("close-escapes", "task_close writes non-ASCII text as escapes.", _CLOSE, escapes),
    Miniature(
        "close-deleted-reversed",
        "task_close names tasks.json before plan.json as deleted.",
        _CLOSE,
        answering(lambda value, _: {**value, "deleted": value["deleted"][::-1]}),
    ),
    Miniature(
        "close-deleted-always-both",
        "task_close always names both files as deleted.",
        _CLOSE,
        answering(lambda value, _: {**value, "deleted": ["plan.json", "tasks.json"]}),
    ),
    Miniature(
        "close-total-before",
        "task_close does not count the new cycle into total_cycles.",
        _CLOSE,
        answering(lambda value, _: {**value, "total_cycles": value["total_cycles"] - 1}),
    ),
    Miniature(
        "close-cycle-number",
        "task_close answers with the cycle's number in place of its time.",
        _CLOSE,
        answering(lambda value, _: {**value, "cycle": value["total_cycles"]}),
    ),
    Miniature(
        "close-counts-all-issues", "task_close counts every issue as a decision.", _CLOSE, answering(_all_issues)
    ),
    Miniature(
        "close-counts-noted-decisions",
        "task_close counts the decisions of tasks.json.",
        _CLOSE,
        counts_noted_decisions,
    ),
    Miniature(
        "close-goal-before-topic",
        "task_close names the goal before the topic in cycleTopics.",
        _CLOSE,
        answering(lambda value, _: _hint(value, cycleTopics=value["memoryHint"]["cycleTopics"][::-1])),
    ),
    Miniature("close-names-empty-topics", "task_close lists empty topics in cycleTopics.", _CLOSE, names_empty_topics),
    Miniature(
        "close-hint-completed-only", "task_close hints at completed tasks only.", _CLOSE, answering(_completed_only)
    ),
    Miniature(
        "close-extra-field",
        "task_close answers with a message, too.",
        _CLOSE,
        answering(lambda value, _: {**value, "message": "Closed."}),
    ),
)
