"""The expected answers of each server for known data, in the form of the contract and in that of upstream.

Whole answers are compared, so that no missing or wrong part stays undetected. A timestamp, which only the server knows,
is taken from its answer if it is valid. Upstream shows less of a cycle, and the newest cycle first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from benchmarks.data.words import RARE
from benchmarks.peers.servers import UPSTREAM_EXTRA, Server

Json = dict[str, Any]
BRANCH = "main"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def moment(seen: object) -> object:
    """Return the timestamp of an answer as the expected one, if it is valid."""
    return seen if isinstance(seen, str) and _MOMENT.fullmatch(seen) else "a moment"


def new_plan(number: int, topic: str, issues: Sequence[str], research_summary: str) -> Json:
    """Return a plan as plan_start writes it, without its timestamp."""
    titles = [{"id": place, "title": title, "status": "pending"} for place, title in enumerate(issues, 1)]
    return {"id": number, "topic": topic, "issues": titles, "research_summary": research_summary}


def _ready(tasks: Sequence[Json]) -> tuple[list[int], list[int]]:
    """Return (the ids of the ready tasks, those of the other pending tasks)."""
    done = {task["id"] for task in tasks if task["status"] == "completed"}
    pending = [task for task in tasks if task["status"] == "pending"]
    ready = [task["id"] for task in pending if done.issuperset(task.get("deps", ()))]
    return ready, sorted({task["id"] for task in pending} - set(ready))


class Contract:
    """The answers of the contract. The argument `answer` is the real one, for its timestamps."""

    def task(self, number: int, texts: Json, answer: Json) -> Json:
        """Return the answer of task_add with these texts only."""
        made = moment(answer.get("task", {}).get("created_at"))
        return {"id": number, **texts, "status": "pending", "deps": [], "created_at": made}

    def listed(self, goal: str, tasks: Sequence[Json]) -> Json:
        states = [task["status"] for task in tasks]
        summary: Json = {"total": len(tasks), "completed": states.count("completed")}
        summary |= {"pending": states.count("pending"), "blocked": states.count("in_progress")}
        return {"goal": goal, "tasks": tasks, "summary": {**summary, "ready": _ready(tasks)[0]}}

    def status(self, plan: Json) -> Json:
        return {"active": True, "plan_id": plan["id"], **_without(plan, "id", "created_at"), "summary": _issues(plan)}

    def decided(self, plan: Json, issue: Json) -> Json:
        """Return the answer to a decision that is not the last one of its plan."""
        left = [_without(other, "decision") for other in plan["issues"] if other["status"] == "pending"]
        return {"decided": True, "issue": issue["title"], "allComplete": False, "remaining": left}

    def closed(self, plan: Json, tasks: Sequence[Json], total: int, answer: Json) -> Json:
        """Return the answer of task_close for tasks without a goal."""
        decided = _issues(plan)["decided"]
        return {
            "closed": True,
            "cycle": moment(answer.get("cycle")),
            "branch": BRANCH,
            "archived": {"plan": True, "decisions": decided, "tasks": len(tasks)},
            "deleted": ["plan.json", "tasks.json"],
            "total_cycles": total,
            "memoryHint": {"taskCount": len(tasks), "decisionCount": decided, "cycleTopics": [plan["topic"]]},
        }

    def cycle(self, plan: Json, tasks: Sequence[Json], seen: Json) -> Json:
        """Return the expected cycle in history.json for this plan and these tasks, on the branch of the projects."""
        return {
            "schema_version": "0.5",
            "completed_at": moment(seen.get("completed_at")),
            "branch": BRANCH,
            "plan": {**plan, "created_at": moment((seen.get("plan") or {}).get("created_at"))},
            "tasks": tasks,
        }

    def recent(self, total: int, newest: Sequence[Json]) -> Json:
        """Return the answer of a search without a query. `newest` are the shown cycles, in the order of the file."""
        return {"total": total, "showing": len(newest), "cycles": [_summary(cycle) for cycle in newest]}

    def found(self, cycles: Sequence[Json], answer: Json) -> Json:
        """Return the answer of a search for the rare word; all of these few cycles are shown."""
        del answer
        return self.recent(len(cycles), cycles)


class Upstream(Contract):
    """The answers in the form of upstream: less of a cycle, the newest first, an owner, no empty deps."""

    def task(self, number: int, texts: Json, answer: Json) -> Json:
        return {**_without(super().task(number, texts, answer), "deps"), **UPSTREAM_EXTRA["task_add"]}

    def listed(self, goal: str, tasks: Sequence[Json]) -> Json:
        ids = {name: [task["id"] for task in tasks if task["status"] == name] for name in ("in_progress", "completed")}
        ready, blocked = _ready(tasks)
        summary = {"total": len(tasks), **ids, "blocked": blocked, "ready": ready}
        return {"goal": goal, "tasks": tasks, "summary": summary}

    def status(self, plan: Json) -> Json:
        shown = _without(plan, "created_at", "research_summary")
        return {"exists": True, **shown, "summary": _issues(plan)}

    def decided(self, plan: Json, issue: Json) -> Json:
        return {**super().decided(plan, issue), "issue": issue}

    def closed(self, plan: Json, tasks: Sequence[Json], total: int, answer: Json) -> Json:
        del total, answer
        left = sum(task["status"] != "completed" for task in tasks)
        return {"closed": True, "plan_id": plan["id"], "task_count": len(tasks), "incomplete_count": left}

    def cycle(self, plan: Json, tasks: Sequence[Json], seen: Json) -> Json:
        named = {"schema_version": "1.0"} if "schema_version" in seen else {}  # only if a close wrote it
        return {**_without(super().cycle(plan, tasks, seen), "schema_version"), **named}

    def recent(self, total: int, newest: Sequence[Json]) -> Json:
        shown = [
            {
                "cycle_id": cycle["completed_at"],
                "branch": cycle["branch"],
                "completed_at": cycle["completed_at"],
                "plan_topic": cycle["plan"]["topic"],
                "plan_issues_count": len(cycle["plan"]["issues"]),
                "tasks_count": len(cycle["tasks"]),
            }
            for cycle in reversed(newest)
        ]
        return {"total": total, "showing": len(newest), "cycles": shown}

    def found(self, cycles: Sequence[Json], answer: Json) -> Json:
        excerpts = [hit.get("excerpt", "") for hit in answer.get("hits", ())] + [""] * len(cycles)
        hits = [
            {
                "cycle_id": cycle["completed_at"],
                "path": "plan.issues[1].decision",
                "excerpt": excerpt if RARE in excerpt else f"… {RARE} …",
            }
            for cycle, excerpt in zip(reversed(cycles), excerpts, strict=False)
        ]
        return {"total_cycles": len(cycles), "total_hits": len(cycles), "hits": hits}


def answers(server: Server) -> Contract:
    return Upstream() if server.extra else Contract()


def _summary(cycle: Json) -> Json:
    """Return the part of a cycle with a plan that history_search shows."""
    decided = [issue for issue in cycle["plan"]["issues"] if issue["status"] == "decided"]
    return {
        "completed_at": cycle["completed_at"],
        "branch": cycle["branch"],
        "topic": cycle["plan"]["topic"],
        "decisions": [{"title": issue["title"], "decision": issue["decision"]} for issue in decided],
        "task_count": len(cycle["tasks"]),
    }


def _issues(plan: Json) -> dict[str, int]:
    states = [issue["status"] for issue in plan["issues"]]
    return {"total": len(states), "pending": states.count("pending"), "decided": states.count("decided")}


def _without(value: Json, *names: str) -> Json:
    return {name: member for name, member in value.items() if name not in names}
