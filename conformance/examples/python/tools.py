"""The tools. To add one, add an entry to TOOLS.

Its section in the contract has its parameters, its answer, its files and its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from store import Store, ToolError

TASKS = "state/tasks.json"
STATUSES = ("pending", "in_progress", "completed")
TEXT = {"type": "string"}
ID = {"type": "integer", "minimum": 1}


@dataclass(frozen=True)
class Tool:
    """A tool: its text, the JSON schema of each parameter, its hints, and what it does."""

    description: str
    parameters: dict[str, Any]
    required: list[str]
    run: Callable[[Store, dict[str, Any]], dict[str, Any]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


def _task_add(store: Store, args: dict[str, Any]) -> dict[str, Any]:
    tasks = _read_tasks(store)
    if tasks is None:
        tasks = {"goal": "", "decisions": [], "tasks": []}
    task = {
        "id": max((task["id"] for task in tasks["tasks"]), default=0) + 1,
        "title": args["title"],
        "context": args["context"],
        "approach": args.get("approach"),
        "acceptance": args.get("acceptance"),
        "risk": args.get("risk"),
        "status": "pending",
        "deps": args.get("deps", []),
        "plan_issue": args.get("plan_issue"),
        "owner": args.get("owner"),
        "owner_agent_id": args.get("owner_agent_id"),
        "owner_reuse_policy": args.get("owner_reuse_policy"),
        "created_at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    # An absent optional value is an absent field, never null.
    task = {name: value for name, value in task.items() if value is not None}
    if args.get("goal", "").strip():
        tasks["goal"] = args["goal"]
    tasks["decisions"] += args.get("decisions", [])
    tasks["tasks"].append(task)
    store.write(TASKS, tasks)
    return {"task": task}


def _task_list(store: Store, _args: dict[str, Any]) -> dict[str, Any]:
    found = _read_tasks(store)
    if found is None:
        return {"exists": False}
    tasks = found["tasks"]
    having = {status: [task for task in tasks if task["status"] == status] for status in STATUSES}
    completed = {task["id"] for task in having["completed"]}
    summary = {
        "total": len(tasks),
        "completed": len(completed),
        "pending": len(having["pending"]),
        # The contract counts the tasks in progress as "blocked".
        "blocked": len(having["in_progress"]),
        "ready": [task["id"] for task in having["pending"] if completed.issuperset(task["deps"])],
    }
    return {"goal": found["goal"], "tasks": tasks, "summary": summary}


TOOLS = {
    "task_add": Tool(
        "Add a task to the list.",
        {
            "title": {"type": "string", "minLength": 1},
            "context": {"type": "string", "minLength": 1, "description": "Why the task is needed."},
            "deps": {
                "type": "array",
                "items": ID,
                "description": "Ids of the tasks that have to be completed first.",
            },
            "approach": TEXT,
            "acceptance": TEXT,
            "risk": TEXT,
            "plan_issue": ID,
            "goal": {"type": "string", "description": "The new goal of the whole list."},
            "decisions": {
                "type": "array",
                "items": TEXT,
                "description": "Decisions to append to those of the list.",
            },
            "owner": TEXT,
            "owner_agent_id": TEXT,
            "owner_reuse_policy": {"type": "string", "enum": ["fresh", "resume_if_same_artifact", "resume"]},
        },
        ["title", "context"],
        _task_add,
    ),
    "task_list": Tool("Show the open tasks.", {}, [], _task_list, read_only=True, idempotent=True),
}


def _read_tasks(store: Store) -> dict[str, Any] | None:
    """Return the task list, None without tasks.json. Raise ToolError for wrong fields: they must not be overwritten."""
    found = store.read(TASKS)
    if found is None:
        return None
    lists = (found.get("decisions"), found.get("tasks"))
    is_whole = isinstance(found.get("goal"), str) and all(isinstance(one, list) for one in lists)
    if is_whole and all(_is_task(task) for task in found["tasks"]):
        return found
    raise ToolError(f".nexus/{TASKS} has a missing or a wrong field. Repair it, then call again. Nothing was changed.")


def _is_task(task: Any) -> bool:
    return (
        isinstance(task, dict)
        and _fits(task.get("id"), ID)
        and isinstance(task.get("title"), str)
        and _fits(task.get("deps"), {"type": "array", "items": ID})
        and task.get("status") in STATUSES
    )


def check_arguments(tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call without nulls, which count as absent. Raise ToolError for unfit ones."""
    if unknown := [name for name in given if name not in tool.parameters]:
        accepted = ", ".join(tool.parameters) or "none"
        raise ToolError(f"unknown parameter {', '.join(unknown)}; accepted: {accepted}")
    args = {name: value for name, value in given.items() if value is not None}
    if missing := [name for name in tool.required if name not in args]:
        raise ToolError("; ".join(f"{name} is required" for name in missing))
    if wrong := [name for name, value in args.items() if not _fits(value, tool.parameters[name])]:
        raise ToolError("; ".join(f"{name} has a wrong type or value" for name in wrong))
    return args


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether a value fits one of the schemas above."""
    if schema["type"] == "integer":
        return isinstance(value, int) and not isinstance(value, bool) and value >= schema["minimum"]
    if schema["type"] == "array":
        return isinstance(value, list) and all(_fits(item, schema["items"]) for item in value)
    if not isinstance(value, str) or "\0" in value:
        return False
    if "enum" in schema:
        return value in schema["enum"]
    return not schema.get("minLength") or bool(value.strip())
