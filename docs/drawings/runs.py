"""Work one cycle with the tools of the server, in a temporary project, and note the state after each call."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace

TASKS = (
    ("Store links", ()),
    ("Random codes", (1,)),
    ("Redirect page", (1,)),
    ("Expire old links", (1,)),
    ("Load test", (2, 3)),
    ("Write the manual", (3, 4)),
)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "plan_start",
        {
            "topic": "Keep short links",
            "issues": ["Where are links stored?", "How are codes chosen?"],
            "research_summary": "Links are in a dict, and codes are counted.",
        },
    ),
    ("plan_decide", {"issue_id": 1, "decision": "SQLite, one table."}),
    ("plan_decide", {"issue_id": 2, "decision": "A counter in base 36."}),
    ("plan_update", {"action": "reopen", "issue_id": 2}),
    ("plan_decide", {"issue_id": 2, "decision": "Seven random characters."}),
    *(("task_add", {"title": title, "context": "shortlink/", "deps": list(deps)}) for title, deps in TASKS),
    ("task_update", {"id": 1, "status": "in_progress"}),
    ("task_update", {"id": 1, "status": "completed"}),
    ("task_update", {"id": 2, "status": "in_progress"}),
    ("task_update", {"id": 3, "status": "in_progress"}),
    ("task_update", {"id": 2, "status": "completed"}),
    ("task_update", {"id": 3, "status": "completed"}),
    ("task_update", {"id": 5, "status": "in_progress"}),
    ("task_update", {"id": 4, "status": "in_progress"}),
    ("task_update", {"id": 5, "status": "pending"}),
    ("task_update", {"id": 4, "status": "completed"}),
    ("task_update", {"id": 5, "status": "in_progress"}),
    ("task_update", {"id": 6, "status": "in_progress"}),
    ("task_update", {"id": 5, "status": "completed"}),
    ("task_update", {"id": 6, "status": "completed"}),
    ("task_close", {}),
)


class Moment(NamedTuple):
    """The state of the files after a call."""

    tool: str
    arguments: dict[str, Any]
    issues: dict[int, str]
    """Id → status."""
    tasks: dict[int, str]
    """Id → status, where a pending task is waiting or ready."""
    cycles: int
    """How many the history has."""


@contextmanager
def project() -> Iterator[Path]:
    """Make a project for the block: an empty git repository on branch main."""
    with tempfile.TemporaryDirectory(prefix="nexus-pictures-") as folder:
        root = Path(folder).resolve()
        (root / ".git" / "refs" / "heads").mkdir(parents=True)
        (root / ".git" / "objects").mkdir()
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        yield root


def server(root: Path, harness: str = "nexus-mcp") -> App:
    """Return the server of a project, with a clock that goes on by a second at each look."""
    seconds = count(1_767_323_045)
    return App(Workspace(str(root), harness), now=lambda: float(next(seconds)))


def call(app: App, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool, and return its answer. Raises ValueError when the call fails."""
    answer = app.call(tool, arguments)
    result = answer.result
    if result["isError"]:
        raise ValueError(f"{tool}: {result['structuredContent']}")
    answer.confirm_delivery()
    content: dict[str, Any] = result["structuredContent"]
    return content


def cycle() -> list[Moment]:
    """Work the cycle, and return the state after each of the CALLS."""
    with project() as root:
        app = server(root)
        moments = []
        for tool, arguments in CALLS:
            call(app, tool, arguments)
            moments.append(_moment(app, root, tool, arguments))
        return moments


def _moment(app: App, root: Path, tool: str, arguments: dict[str, Any]) -> Moment:
    nexus = root / ".nexus"
    listed = call(app, "task_list", {})
    ready = listed["summary"]["ready"] if "summary" in listed else []
    return Moment(
        tool,
        arguments,
        {issue["id"]: issue["status"] for issue in _read(nexus / "state" / "plan.json").get("issues", ())},
        {task["id"]: _status(task, ready) for task in _read(nexus / "state" / "tasks.json").get("tasks", ())},
        len(_read(nexus / "history.json").get("cycles", ())),
    )


def _status(task: dict[str, Any], ready: list[int]) -> str:
    if task["status"] != "pending":
        return str(task["status"])
    return "ready" if task["id"] in ready else "waiting"


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return value
