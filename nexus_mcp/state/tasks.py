"""Change and query task lists in the form of tasks.json. A change returns a new list; the old one stays as it is."""

from __future__ import annotations

from nexus_mcp.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PENDING = "pending"
IN_PROGRESS = "in_progress"
COMPLETED = "completed"
STATUSES = (PENDING, IN_PROGRESS, COMPLETED)
REUSE_POLICIES = ("fresh", "resume_if_same_artifact", "resume")


def next_id(rows: list[dict[str, Any]]) -> int:
    """Return the `id` for a new task or issue: the highest id in `rows` + 1; 1 without rows."""
    return 1 + max([row["id"] for row in rows], default=0)


def empty() -> dict[str, Any]:
    """Return the task list of a new tasks.json."""
    return {"goal": "", "decisions": [], "tasks": []}


def add(
    tasks: dict[str, Any], fields: dict[str, Any], created_at: str, *, goal: str, decisions: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the list with one more task, the task). `fields` are the arguments of task_add that the task stores.

    A blank `goal` leaves the old one; `decisions` are appended. The other tasks stay the same objects, so that their
    JSON text need not be made again.
    """
    task = {"id": next_id(tasks["tasks"]), "status": PENDING, "deps": [], **fields, "created_at": created_at}
    changed = {
        **tasks,
        "goal": goal if goal.strip() else tasks["goal"],
        "decisions": [*tasks["decisions"], *decisions] if decisions else tasks["decisions"],
        "tasks": [*tasks["tasks"], task],
    }
    return changed, task


def set_status(tasks: dict[str, Any], task_id: int, status: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (the list, the task) with the task's status set. Raise ToolError if there is no task with this id."""
    for index, task in enumerate(tasks["tasks"]):
        if task["id"] == task_id:
            changed = {**task, "status": status}
            rows = tasks["tasks"]
            return {**tasks, "tasks": [*rows[:index], changed, *rows[index + 1 :]]}, changed
    raise ToolError(f"Task id {task_id} not found")


def count(tasks: dict[str, Any], status: str) -> int:
    """Return how many tasks have this status."""
    return sum(task["status"] == status for task in tasks["tasks"])


def ready(tasks: dict[str, Any]) -> list[int]:
    """Return the ids of the pending tasks whose deps are all completed, in file order.

    A dep on a missing task counts as not completed.
    """
    done = {task["id"] for task in tasks["tasks"] if task["status"] == COMPLETED}
    return [task["id"] for task in tasks["tasks"] if task["status"] == PENDING and done.issuperset(task["deps"])]
