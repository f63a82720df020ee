"""The contract's answers of the reading tools, computed from the values of readable files."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.reliability.suites.files.reference_reader import Spelled

Json = Any

BRANCH = "_default"  # no project here is a git repository


def plan_status(plan: Json) -> Json:
    if plan is None:
        return {"active": False}
    issues = plan["issues"]
    decided = sum(issue["status"] == "decided" for issue in issues)
    summary = {"total": len(issues), "pending": len(issues) - decided, "decided": decided}
    known = {"research_summary": plan["research_summary"]} if "research_summary" in plan else {}
    return {
        "active": True,
        "plan_id": plan["id"],
        "topic": plan["topic"],
        "issues": issues,
        **known,
        "summary": summary,
    }


def task_list(tasks: Json) -> Json:
    if tasks is None:
        return {"exists": False}
    items = tasks["tasks"]
    done = [item["id"] for item in items if item["status"] == "completed"]
    ready = [i["id"] for i in items if i["status"] == "pending" and all(dep in done for dep in i["deps"])]
    counts = {name: _count(tasks, status) for name, status in _COUNTED.items()}
    return {"goal": tasks["goal"], "tasks": items, "summary": {"total": len(items), **counts, "ready": ready}}


_COUNTED = {"completed": "completed", "pending": "pending", "blocked": "in_progress"}


def context(tasks: Json) -> Json:
    """Return the answer of `context`; `tasks` is None if the file is absent or broken."""
    if tasks is None:
        return {"branch": BRANCH, "activeMode": None, "decisions": []}
    counts = {name: _count(tasks, name) for name in ("completed", "pending")}
    summary = {"total": len(tasks["tasks"]), **counts}
    head = {"branch": BRANCH, "activeMode": "team", "goal": tasks["goal"]}
    return {**head, "tasksSummary": summary, "decisions": tasks["decisions"]}


def history_search(history: Json, spelled: Json, query: str, last_n: int) -> Json:
    """Return the answer of `history_search`. `spelled` is the history with numbers as they are in the file."""
    cycles = [] if history is None else history["cycles"]
    texts = [compact(found) for found in ([] if spelled is None else spelled["cycles"])]
    asked = query.lower() if query.strip() else ""
    found = [cycle for cycle, text in zip(cycles, texts, strict=True) if asked in text.lower()]
    newest = found[-last_n:]
    return {"total": len(found), "showing": len(newest), "cycles": [_summed_up(cycle) for cycle in newest]}


def _summed_up(cycle: Json) -> Json:
    shown = {name: cycle[name] for name in ("completed_at", "branch") if isinstance(cycle.get(name), str)}
    plan = cycle.get("plan")
    if isinstance(plan, dict):
        issues: Json = plan.get("issues") if isinstance(plan.get("issues"), list) else []
        decided = [i for i in issues if isinstance(i, dict) and i.get("status") == "decided"]
        shown.update({"topic": plan["topic"]} if isinstance(plan.get("topic"), str) else {})
        shown["decisions"] = [{n: i[n] for n in ("title", "decision") if isinstance(i.get(n), str)} for i in decided]
    if isinstance(cycle.get("tasks"), list):
        shown["task_count"] = len(cycle["tasks"])
    return shown


def compact(value: Json) -> str:
    """Return a value with Spelled numbers as JSON: no spaces, lone surrogates as escapes, other text unescaped."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(name)}:{compact(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return str(value) if isinstance(value, Spelled) else _quoted(value)


def _quoted(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def sendable(value: Json) -> Json:
    """Return a value as answers have it: with U+FFFD in place of lone surrogates, which cannot be sent."""
    if isinstance(value, dict):
        return {sendable(name): sendable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [sendable(inner) for inner in value]
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) else value


def _count(tasks: Json, status: str) -> int:
    return sum(item["status"] == status for item in tasks["tasks"])
