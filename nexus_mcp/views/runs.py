"""The newest run of `nexus-mcp run` as a row of other views: its progress, and the next command to type."""

from __future__ import annotations

from nexus_mcp.store.run_files import CRASHED, RUNNING, read_status, run_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from nexus_mcp.store.store import Store

    class RunRow(TypedDict):
        """See schemas/views/status.schema.json. `command` is the next command to type, "" if nothing is left to do."""

        id: str
        status: str
        done: int
        total: int
        failed: int
        paused: int
        questions: list[dict[str, Any]]
        updated_at: str
        command: str


COMPLETED, FAILED = "completed", "failed"
_OPEN = (RUNNING, CRASHED, "paused", "stalled")
"""Statuses of a run that is not over."""
_COMMANDS = {
    RUNNING: "nexus-mcp run status --follow",
    COMPLETED: "",
    FAILED: "nexus-mcp run status",
    "precheck-failed": "nexus-mcp run precheck",
}


def newest_run(store: Store) -> RunRow | None:
    """Return the newest run; None if there is no run, or the newest one has no status file yet. Raise StateError,
    StorageError, PathRefused.
    """
    with store.state_as_it_is() as state:
        ids = [] if state is None else run_ids(state)
        found = None if state is None or not ids else read_status(state, ids[-1])
    if found is None:
        return None
    run, progress, questions = found["run"], found["progress"], found["questions"]
    asks = f"nexus-mcp run answer {questions[0]['id']} TEXT" if questions else ""
    return {
        "id": ids[-1],
        "status": run["status"],
        "done": progress["passed"],
        "total": progress["total"],
        "failed": progress["failed"],
        "paused": progress["paused"],
        "questions": questions,
        "updated_at": found["updatedAt"],
        "command": asks or _COMMANDS.get(run["status"], "nexus-mcp run"),
    }


def is_open(run: RunRow) -> bool:
    """Return whether the run is not over: it is at work, or `nexus-mcp run` can continue it."""
    return run["status"] in _OPEN


def part(run: RunRow | None, *, has_tasks: bool) -> str:
    """Return the run for a status bar: `run: paused` or `run: 1 question`.

    Return "" without a run, for a run that is over, and for a run that is not at work if there are no tasks.
    """
    if run is None or not is_open(run) or (run["status"] != RUNNING and not has_tasks):
        return ""
    count = len(run["questions"])
    return f"run: {count} question{'s' * (count != 1)}" if count else f"run: {run['status']}"
