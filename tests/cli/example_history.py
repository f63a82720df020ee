"""The project of docs/history.md: three closed cycles, an open plan, and tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _issue(id_: int, title: str, decision: str = "", **advice: str) -> dict[str, Any]:
    issue: dict[str, Any] = {"id": id_, "title": title, "status": "decided" if decision else "pending"}
    if decision:
        issue["decision"] = decision
    if advice:
        issue |= {"how_agents": [*advice], "how_summary": advice}
    return issue


def _task(id_: int, title: str, status: str = "completed", deps: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    fixed = {"id": id_, "title": title, "context": "See the decision.", "status": status, "deps": [*deps]}
    return {**fixed, **more, "created_at": "2026-11-02T09:00:00.000Z"}


def _plan(id_: int, topic: str, day: str, issues: list[dict[str, Any]], research: str = "") -> dict[str, Any]:
    return {
        "id": id_,
        "topic": topic,
        "issues": issues,
        "research_summary": research,
        "created_at": f"2026-11-{day}T08:00:00.000Z",
    }


def _cycle(closed: str, branch: str, plan: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema_version": "0.12",
        "completed_at": f"2026-11-{closed}:00.000Z",
        "branch": branch,
        "plan": plan,
        "tasks": tasks,
    }


GRAMMAR = _cycle(
    "03T16:20",
    "main",
    _plan(
        1,
        "A grammar for notes",
        "02",
        [_issue(1, "Which grammar?", "`note.v1`: every client reads it.", architect="Free text cannot be searched.")],
        "Clients write two grammars today: `note.v1` and free text.",
    ),
    [_task(1, "Describe the grammar", owner="writer", plan_issue=1)],
)
LINKS = _cycle(
    "10T11:05",
    "main",
    _plan(
        2,
        "Links survive a restart",
        "09",
        [
            _issue(
                1,
                "Where are links stored?",
                "In one JSON file.\n- one process writes it\n- `os.replace` changes it in one step",
                architect="A file. A database would be a dependency for 40 rows.",
                engineer="Either works; a file can be read in a review.",
            ),
            _issue(2, "What happens with a broken file?", "It stays, and the error says where it is broken."),
        ],
    ),
    [
        _task(1, "Write the store", owner="engineer", plan_issue=1, acceptance="A kill leaves old or new bytes."),
        _task(2, "Name line and column of a fault", deps=(1,), owner="engineer", plan_issue=2),
        _task(3, "Document the format", deps=(1,), owner="writer"),
    ],
)
STORAGE = _cycle(
    "17T14:40",
    "sqlite",
    _plan(
        3,
        "Links in a database",
        "16",
        [
            _issue(1, "Where are links stored?", "In SQLite: there are 50 000 rows now."),
            _issue(2, "What happens with a broken file?", "It stays, and the error says where it is broken."),
        ],
    ),
    [_task(1, "Write the store", owner="engineer", plan_issue=1), _task(2, "Move the old file over", deps=(1,))],
)
PLAN = _plan(
    4,
    "Version 1.0",
    "18",
    [_issue(1, "Which date?", "The first of December."), _issue(2, "Which platforms?")],
)
TASKS = [
    _task(1, "Agree on the notes", owner="writer", plan_issue=1),
    _task(2, "Freeze the format", "in_progress", (1,), owner="engineer"),
    _task(3, "Test on macOS", "pending", (2,)),
    _task(4, "Write the manual", "pending", (1,), owner="writer"),
    _task(5, "Release", "pending", (3, 4)),
]


def write(root: Path) -> None:
    """Write the files of the project below `root`."""
    state = root / ".nexus" / "state"
    state.mkdir(parents=True, exist_ok=True)
    _put(root / ".nexus" / "history.json", {"schema_version": "0.12", "cycles": [GRAMMAR, LINKS, STORAGE]})
    _put(state / "plan.json", {"schema_version": "0.12", **PLAN})
    _put(state / "tasks.json", {"schema_version": "0.12", "goal": "Ship 1.0", "decisions": [], "tasks": TASKS})


def _put(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
