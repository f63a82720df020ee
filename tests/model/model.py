"""The contract as plain values in memory: what each tool answers and what the files hold afterwards.

Written from the contract alone; it shares no code with the package. `Model.call` returns an `Outcome`; `Model.files`
the bytes that the state files have to have.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.support import Clock, compact, pretty, stamp

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
PLAN_KEYS = ("schema_version", "id", "topic", "issues", "research_summary", "created_at")
ISSUE_KEYS = ("id", "title", "status", "decision", "how_agents", "how_summary", "how_agent_ids")
TASKS_KEYS = ("schema_version", "goal", "decisions", "tasks")
TASK_KEYS = (
    "id", "title", "context", "approach", "acceptance", "risk", "status", "deps", "plan_issue", "owner",
    "owner_agent_id", "owner_reuse_policy", "created_at",
)  # fmt: skip
STATUSES = ("pending", "in_progress", "completed")


@dataclass(frozen=True)
class Parameter:
    """What a parameter takes. `kind`: text, id, ids, texts, titles or map."""

    kind: str
    required: bool = False
    not_blank: bool = False
    only: tuple[str, ...] = ()


TEXT = Parameter("text")
NEEDED = Parameter("text", required=True)
FILLED = Parameter("text", required=True, not_blank=True)
PARAMETERS: dict[str, dict[str, Parameter]] = {
    "plan_start": {"topic": FILLED, "issues": Parameter("titles", required=True), "research_summary": NEEDED},
    "plan_status": {},
    "plan_update": {"action": NEEDED, "issue_id": Parameter("id"), "title": TEXT},
    "plan_decide": {
        "issue_id": Parameter("id", required=True),
        "decision": NEEDED,
        "how_agents": Parameter("texts"),
        "how_summary": Parameter("map"),
        "how_agent_ids": Parameter("map"),
    },
    "task_add": {
        "title": FILLED,
        "context": FILLED,
        "deps": Parameter("ids"),
        "approach": TEXT,
        "acceptance": TEXT,
        "risk": TEXT,
        "plan_issue": Parameter("id"),
        "goal": TEXT,
        "decisions": Parameter("texts"),
        "owner": TEXT,
        "owner_agent_id": TEXT,
        "owner_reuse_policy": Parameter("text", only=("fresh", "resume_if_same_artifact", "resume")),
    },
    "task_list": {},
    "task_update": {"id": Parameter("id", required=True), "status": Parameter("text", required=True, only=STATUSES)},
    "task_close": {},
    "history_search": {"query": TEXT, "last_n": Parameter("id")},
    "context": {},
    "artifact_write": {"filename": FILLED, "content": NEEDED},
}


class Wrong(Exception):
    """A value that its parameter does not take."""


class Refused(Exception):
    """One of the contract's exact messages."""


@dataclass(frozen=True)
class Outcome:
    """An answer (`result`), or an error: its exact `message`, or the words that some message has to `mention`."""

    result: Any = None
    message: str = ""
    mention: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.result is None


class Model:
    """A project of the contract. `root` is the project's path, `lost` the answer of a close that went undelivered."""

    def __init__(self, root: str, clock: Clock, branch: str = "main", plan: Any = None, tasks: Any = None) -> None:
        self.root = root
        self.clock = clock
        self.branch = branch
        self.plan = copy.deepcopy(plan)
        self.tasks = copy.deepcopy(tasks)
        self.cycles: list[Any] | None = None
        self.artifacts: dict[str, str] = {}
        self.lost: Any = None
        # As long as nobody rewrites a file it has the bytes that it came with.
        self.untouched = {"state/plan.json": plan is not None, "state/tasks.json": tasks is not None}

    def call(self, tool: str, given: dict[str, Any], *, delivered: bool = True) -> Outcome:
        known = PARAMETERS[tool]
        unknown = [name for name in given if name not in known]
        if unknown:
            return Outcome(mention=(*unknown, *known))
        missing = [name for name, shape in known.items() if shape.required and given.get(name) is None]
        if missing:
            return Outcome(message="; ".join(f"{name} is required" for name in missing))
        fit: dict[str, Any] = {}
        wrong = []
        for name, shape in known.items():
            if given.get(name) is None:
                continue
            try:
                fit[name] = fitted(given[name], shape)
            except Wrong:
                wrong.append(name)
        if wrong:
            return Outcome(mention=tuple(wrong))
        try:
            result = getattr(self, tool)(**fit)
        except Refused as refusal:
            return Outcome(message=str(refusal))
        if tool == "task_close" and not delivered:
            self.lost = result
        return Outcome(result=copy.deepcopy(result))

    def files(self) -> dict[str, bytes]:
        """Path below .nexus → bytes, of the files that the tools have written."""
        out = {}
        if self.plan is not None and not self.untouched["state/plan.json"]:
            out["state/plan.json"] = pretty(ordered_plan(self.plan))
        if self.tasks is not None and not self.untouched["state/tasks.json"]:
            out["state/tasks.json"] = pretty(ordered_tasks(self.tasks))
        if self.cycles is not None:
            out["history.json"] = pretty({"cycles": self.cycles})
        return out | {f"state/artifacts/{name}": content.encode() for name, content in self.artifacts.items()}

    # plans

    def plan_start(self, topic: str, issues: list[str], research_summary: str) -> Any:
        archived = self.plan is not None
        if archived:
            self._archive([])
        highest = max((c["plan"]["id"] for c in self.cycles or [] if c["plan"] is not None), default=0)
        self.plan = {
            "id": highest + 1,
            "topic": topic,
            "issues": [{"id": n, "title": title, "status": "pending"} for n, title in enumerate(issues, 1)],
            "research_summary": research_summary,
            "created_at": self.clock.stamp(),
        }
        self._wrote("state/plan.json")
        return {
            "created": True,
            "plan_id": highest + 1,
            "topic": topic,
            "issueCount": len(issues),
            "previousArchived": archived,
        }

    def plan_status(self) -> Any:
        if self.plan is None:
            return {"active": False}
        statuses = [issue["status"] for issue in self.plan["issues"]]
        answer = {
            "active": True,
            "plan_id": self.plan["id"],
            "topic": self.plan["topic"],
            "issues": self.plan["issues"],
            "summary": {
                "total": len(statuses),
                "pending": statuses.count("pending"),
                "decided": statuses.count("decided"),
            },
        }
        if "research_summary" in self.plan:
            answer["research_summary"] = self.plan["research_summary"]
        return answer

    def plan_update(self, action: str, issue_id: int | None = None, title: str = "") -> Any:
        if self.plan is None:
            raise Refused("No active plan session")
        if action not in {"add", "remove", "edit", "reopen"}:
            raise Refused("Unknown action")
        blank = not title.strip()
        if action == "add" and blank:
            raise Refused("title is required for add")
        if action in {"remove", "reopen"} and issue_id is None:
            raise Refused(f"issue_id is required for {action}")
        if action == "edit" and (blank or issue_id is None):
            raise Refused("issue_id and title are required for edit")
        issues = self.plan["issues"]
        if action == "add":
            made = {"id": 1 + max((i["id"] for i in issues), default=0), "title": title, "status": "pending"}
            issues.append(made)
            self._wrote("state/plan.json")
            return {"added": True, "issue": dict(made)}
        found = self._issue(issue_id)
        self._wrote("state/plan.json")
        if action == "remove":
            issues.remove(found)
            return {"removed": True, "issue": {"id": issue_id}}
        if action == "edit":
            found["title"] = title
            return {"edited": True, "issue": {"id": issue_id, "title": title}}
        found["status"] = "pending"
        found.pop("decision", None)
        return {"reopened": True, "issue": {"id": issue_id, "title": found["title"], "status": "pending"}}

    def plan_decide(self, issue_id: int, decision: str, **how: Any) -> Any:
        if self.plan is None:
            raise Refused("No active plan session")
        found = self._issue(issue_id)
        found.update({"status": "decided", "decision": decision, **how})
        self._wrote("state/plan.json")
        left = [{k: i[k] for k in ("id", "title", "status")} for i in self.plan["issues"] if i["status"] == "pending"]
        answer = {"decided": True, "issue": found["title"], "allComplete": not left}
        return {**answer, "remaining": left} if left else {**answer, "message": ...}

    # tasks

    def task_add(
        self, title: str, context: str, goal: str = "", decisions: tuple[str, ...] = (), **optional: Any
    ) -> Any:
        if self.tasks is None:
            self.tasks = {"goal": "", "decisions": [], "tasks": []}
        made = {
            "id": 1 + max((t["id"] for t in self.tasks["tasks"]), default=0),
            "title": title,
            "context": context,
            "status": "pending",
            "deps": [],
            "created_at": self.clock.stamp(),
            **optional,
        }
        if goal.strip():
            self.tasks["goal"] = goal
        self.tasks["decisions"] += decisions
        self.tasks["tasks"].append(made)
        self._wrote("state/tasks.json")
        return {"task": made}

    def task_list(self) -> Any:
        if self.tasks is None:
            return {"exists": False}
        rows = self.tasks["tasks"]
        statuses = [row["status"] for row in rows]
        done = {row["id"] for row in rows if row["status"] == "completed"}
        return {
            "goal": self.tasks["goal"],
            "tasks": rows,
            "summary": {
                "total": len(rows),
                "completed": statuses.count("completed"),
                "pending": statuses.count("pending"),
                "blocked": statuses.count("in_progress"),
                "ready": [row["id"] for row in rows if row["status"] == "pending" and set(row["deps"]) <= done],
            },
        }

    def task_update(self, id: int, status: str) -> Any:
        if self.tasks is None:
            raise Refused("tasks.json not found")
        for row in self.tasks["tasks"]:
            if row["id"] == id:
                row["status"] = status
                self._wrote("state/tasks.json")
                return {"task": row}
        raise Refused(f"Task id {id} not found")

    def task_close(self) -> Any:
        if self.plan is None and self.tasks is None and self.lost is not None:
            answer, self.lost = self.lost, None
            return answer
        plan, tasks = self.plan, self.tasks
        rows = tasks["tasks"] if tasks is not None else []
        decided = [i for i in plan["issues"] if i["status"] == "decided"] if plan is not None else []
        topics = [plan["topic"] if plan is not None else "", tasks["goal"] if tasks is not None else ""]
        cycle = self._archive(rows)
        self.plan = self.tasks = None
        return {
            "closed": True,
            "cycle": cycle["completed_at"],
            "branch": self.branch,
            "archived": {"plan": plan is not None, "decisions": len(decided), "tasks": len(rows)},
            "deleted": [name for name, had in (("plan.json", plan), ("tasks.json", tasks)) if had is not None],
            "total_cycles": len(self.cycles or []),
            "memoryHint": {
                "taskCount": len(rows),
                "decisionCount": len(decided),
                "cycleTopics": [text for text in topics if text],
            },
        }

    # the rest

    def history_search(self, query: str = "", last_n: int = 10) -> Any:
        wanted = query.lower() if query.strip() else ""
        hits = [cycle for cycle in self.cycles or [] if wanted in compact(cycle).lower()]
        shown = hits[-last_n:]
        return {"total": len(hits), "showing": len(shown), "cycles": [summary(cycle) for cycle in shown]}

    def context(self) -> Any:
        if self.tasks is None:
            return {"branch": self.branch, "activeMode": None, "decisions": []}
        statuses = [row["status"] for row in self.tasks["tasks"]]
        return {
            "branch": self.branch,
            "activeMode": "team",
            "goal": self.tasks["goal"],
            "tasksSummary": {
                "total": len(statuses),
                "completed": statuses.count("completed"),
                "pending": statuses.count("pending"),
            },
            "decisions": self.tasks["decisions"],
        }

    def artifact_write(self, filename: str, content: str) -> Any:
        self.artifacts[filename] = content
        return {"success": True, "path": f"{self.root}/.nexus/state/artifacts/{filename}"}

    def _issue(self, issue_id: int | None) -> Any:
        for issue in self.plan["issues"]:
            if issue["id"] == issue_id:
                return issue
        raise Refused(f"Issue {issue_id} not found")

    def _archive(self, rows: list[Any]) -> Any:
        self.cycles = self.cycles or []
        at = self.clock.ms
        if self.cycles:
            at = max(at, 1 + milliseconds(self.cycles[-1]["completed_at"]))
        taken = {cycle["completed_at"] for cycle in self.cycles}
        while stamp(at) in taken:
            at += 1
        cycle = {
            "schema_version": "0.5",
            "completed_at": stamp(at),
            "branch": self.branch,
            "plan": ordered_plan(self.plan) if self.plan is not None else None,
            "tasks": [ordered(row, TASK_KEYS) for row in rows],
        }
        self.cycles.append(copy.deepcopy(cycle))
        return cycle

    def _wrote(self, path: str) -> None:
        self.untouched[path] = False
        self.lost = None


def milliseconds(text: str) -> int:
    """The moment of a stamp."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def ordered(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Known keys first, in their order, the others after them as they came."""
    known = {key: value[key] for key in keys if key in value}
    return {**known, **{key: member for key, member in value.items() if key not in known}}


def ordered_plan(plan: Any) -> Any:
    return {**ordered(plan, PLAN_KEYS), "issues": [ordered(issue, ISSUE_KEYS) for issue in plan["issues"]]}


def ordered_tasks(tasks: Any) -> Any:
    return {**ordered(tasks, TASKS_KEYS), "tasks": [ordered(row, TASK_KEYS) for row in tasks["tasks"]]}


def summary(cycle: Any) -> Any:
    out = {"completed_at": cycle["completed_at"], "branch": cycle["branch"], "task_count": len(cycle["tasks"])}
    if cycle["plan"] is not None:
        decided = [issue for issue in cycle["plan"]["issues"] if issue["status"] == "decided"]
        out["topic"] = cycle["plan"]["topic"]
        out["decisions"] = [{"title": issue["title"], "decision": issue["decision"]} for issue in decided]
    return out


def fitted(value: Any, shape: Parameter) -> Any:
    """The value that the tool works with. Raises Wrong."""
    if shape.kind == "text":
        return text(value, shape)
    if shape.kind == "id":
        return number(value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise Wrong from None
    if shape.kind == "map":
        if not isinstance(value, dict):
            raise Wrong
        return {text(key, TEXT): text(member, TEXT) for key, member in value.items()}
    if not isinstance(value, list):
        raise Wrong
    if shape.kind == "ids":
        return [number(item) for item in value]
    return [text(item, FILLED if shape.kind == "titles" else TEXT) for item in value]


def text(value: Any, shape: Parameter) -> str:
    if not isinstance(value, str) or "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise Wrong
    if (shape.not_blank and not value.strip()) or (shape.only and value not in shape.only):
        raise Wrong
    return value


def number(value: Any) -> int:
    if isinstance(value, str):
        if not NUMBER.fullmatch(value):
            raise Wrong
        value = float(value) if set(value) & set(".eE") else int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Wrong
    if isinstance(value, float) and not value.is_integer():
        raise Wrong
    if value < 1:
        raise Wrong
    return int(value)
