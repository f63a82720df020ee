"""The projects in which an editor saves, the calls that replace the file, and the checks afterwards."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nexus_mcp.store.atomic import PREFIX
from tests.reliability.suites.caller import Caller, called
from tests.reliability.suites.editors.saves import TOKEN, in_place

ACKNOWLEDGED = "acknowledged"
_ADD = {"title": ACKNOWLEDGED, "context": "c"}
_PLAN = {"topic": "First", "issues": ["one", "two"], "research_summary": "r"}
_NOTE = {"filename": "a/note.md", "content": ACKNOWLEDGED}


@dataclass(frozen=True)
class Scene:
    """A call of `tool`, after the calls `before`, while an editor saves the file at `path` below `.nexus`."""

    path: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    before: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def told(self) -> str:
        return f"{self.tool} while {self.path} is saved"


_OTHER = ("artifact_write", {"filename": "a/other.md", "content": "x"})
_PLANNED = ("plan_start", _PLAN)
_TASK = ("task_add", {"title": "first", "context": "c"})
_CLOSED: tuple[tuple[str, dict[str, Any]], ...] = (_TASK, ("task_close", {}), _PLANNED, _TASK)
SCENES = (
    Scene("state/tasks.json", "task_add", _ADD, (_TASK,)),
    Scene("state/tasks.json", "task_add", _ADD, (_PLANNED,)),
    Scene("state/tasks.json", "task_update", {"id": 1, "status": "completed"}, (_TASK,)),
    Scene("state/plan.json", "plan_decide", {"issue_id": 1, "decision": ACKNOWLEDGED}, (_PLANNED,)),
    Scene("state/plan.json", "plan_update", {"action": "add", "title": ACKNOWLEDGED}, (_PLANNED,)),
    Scene("state/plan.json", "plan_start", {**_PLAN, "topic": ACKNOWLEDGED}, (_PLANNED,)),
    Scene("state/plan.json", "plan_start", {**_PLAN, "topic": ACKNOWLEDGED}, (_TASK,)),
    Scene("state/tasks.json", "task_close", {}, (_PLANNED, _TASK)),
    Scene("state/plan.json", "task_close", {}, (_PLANNED, _TASK)),
    Scene("history.json", "task_close", {}, _CLOSED),
    Scene("state/tasks.json", "undo", {"count": 1}, (_TASK, _TASK)),
    Scene("state/artifacts/a/note.md", "artifact_write", _NOTE, (("artifact_write", {**_NOTE, "content": "old"}),)),
    Scene("state/artifacts/a/note.md", "artifact_write", _NOTE, (_OTHER,)),
)


class Ground:
    """A project in the state before the call; `reset` restores that state."""

    def __init__(self, folder: Path, scene: Scene, *, saved: bool) -> None:
        self.scene = scene
        self.root = folder / "project"
        self._start = folder / "start"
        self._start.mkdir()
        for tool, arguments in scene.before:
            called(self._start, tool, **arguments)
        first = self._start / ".nexus" / scene.path
        if saved and first.exists():
            for save in in_place(first, TOKEN % 0):
                save()
        self.path = self.root / ".nexus" / scene.path

    def reset(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._start, self.root)

    def call(self) -> Any:
        """Make the call in a new simulated process, deliver its answer, and return the result."""
        answer = Caller(self.root).call(self.scene.tool, self.scene.arguments)
        answer.confirm_delivery()
        return answer.result

    def settle(self) -> None:
        """Make the next calls, each in a new process: a read, which completes a change, and a change, which sweeps."""
        for tool, arguments in (("plan_status", {}), ("artifact_write", {"filename": "a/last.md", "content": "x"})):
            Caller(self.root).call(tool, arguments).confirm_delivery()

    def texts(self) -> str:
        """Return all texts that a user can find: the files, the history, and the copies beside them."""
        found = [
            path.read_text()
            for path in (self.root / ".nexus").rglob("*")
            if path.is_file() and not path.name.startswith(PREFIX) and path.name not in ("oplog.jsonl", "lock")
        ]
        return "\n".join(found)

    @property
    def is_written_over(self) -> bool:
        """Whether the call overwrites any present content."""
        return "artifacts" in self.scene.path

    def undo_texts(self) -> str:
        """Return the texts in the operation log if the call overwrites: only the log then has the old content."""
        return (self.root / ".nexus/state/oplog.jsonl").read_text() if self.is_written_over else ""
