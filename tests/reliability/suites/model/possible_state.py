"""A possible state of a project by the model, with everything that a crash leaves undecided."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import PLAN_CHANGE, TASK_CREATION, TASK_METADATA, TASK_STATE
from tests.model.files import Refused
from tests.model.model import Model, Outcome
from tests.model.shapes import ordered_plan, ordered_tasks
from tests.support import READ_ONLY, Clock, pretty

PLAN, TASKS, ARTIFACTS = "plan.json", "tasks.json", "artifacts/"
UNDO = "undo"
_TASK_CLASSES = {TASK_CREATION, TASK_STATE, TASK_METADATA}
# Tool → the file that it writes, by its capability class. A close and artifact_write have no fixed file.
_WRITTEN = {
    tool.name: PLAN if PLAN_CHANGE in tool.classes else TASKS
    for tool in TOOLS
    if {PLAN_CHANGE, *_TASK_CLASSES}.intersection(tool.classes)
}


class Change(NamedTuple):
    """A line of the operation log: the files with their bytes before and after."""

    files: dict[str, tuple[bytes | None, bytes | None]]


# A change, the time of a cycle that was archived, or None for a line that cannot be read.
Line = Change | str | None


@dataclass(frozen=True)
class Wrote:
    """The writes of a change: the files that it writes or removes, with their old contents, and the cycle that it adds.

    `log` is the operation log without the change. `journaled`: a crash may leave a journal of it. `answer` is that of a
    close, whose receipt is kept until it was delivered.
    """

    files: dict[str, bytes | None]
    log: tuple[Line, ...]
    cycle: Any = None
    journaled: bool = False
    answer: Any = None


class Possible(Model):
    """A state of the project: the files of the contract, and the other files that the store keeps.

    `receipts` are the undelivered answers of closes; `waiting` is the change that a journal may still have to complete;
    `conflicts` are the contents that were set aside; `log` is the operation log without undone changes.
    """

    def __init__(self, root: str, clock: Clock) -> None:
        self.receipts: list[Any] = []
        self.waiting: Wrote | None = None
        self.conflicts: list[bytes] = []
        self.log: list[Line] = []
        self._given: dict[str, bytes] = {}
        super().__init__(root, clock)

    @property
    def lost(self) -> Any:
        """Return the answer that the next close returns if nothing is open: the newest one whose cycle still exists."""
        places = {cycle["completed_at"]: place for place, cycle in enumerate(self.cycles or [])}
        kept = [answer for answer in self.receipts if answer["cycle"] in places]
        return max(kept, key=lambda answer: places[answer["cycle"]], default=None)

    @lost.setter
    def lost(self, value: Any) -> None:
        self.receipts = [] if value is None else [*self.receipts, value]

    def copy(self) -> Possible:
        other = copy.copy(self)
        other.plan, other.tasks = copy.deepcopy(self.plan), copy.deepcopy(self.tasks)
        other.cycles = None if self.cycles is None else list(self.cycles)
        for name in ("artifacts", "untouched", "_given"):
            setattr(other, name, dict(getattr(self, name)))
        for name in ("receipts", "conflicts", "log"):
            setattr(other, name, list(getattr(self, name)))
        return other

    def key(self) -> str:
        """Return the same key for two states that no call can distinguish."""
        return repr((self.files(), self.receipts, self.waiting, self.conflicts, self.log))

    def bytes_of(self, name: str) -> bytes | None:
        """Return the bytes of a session file or an artifact, by its path from `.nexus/state`."""
        if name.startswith(ARTIFACTS):
            text = self.artifacts.get(name.removeprefix(ARTIFACTS))
            return None if text is None else text.encode()
        value = self.plan if name == PLAN else self.tasks
        if value is None:
            return None
        if self.untouched[f"state/{name}"]:
            return self._given[name]
        return pretty(ordered_plan(value) if name == PLAN else ordered_tasks(value))

    def files(self) -> dict[str, bytes]:
        """Return path below .nexus → bytes, for all files of the contract."""
        given = {f"state/{name}": self.bytes_of(name) for name in (PLAN, TASKS)}
        return {**super().files(), **{name: data for name, data in given.items() if data is not None}}

    def put(self, name: str, data: bytes | None) -> None:
        """Write this foreign content to the file, in any layout; None removes it."""
        if name.startswith(ARTIFACTS):
            self.artifacts.pop(name.removeprefix(ARTIFACTS), None)
            if data is not None:
                self.artifacts[name.removeprefix(ARTIFACTS)] = data.decode()
            return
        value = None if data is None else json.loads(data)
        if name == PLAN:
            self.plan = value
        else:
            self.tasks = value
        if data is not None:
            self.untouched[f"state/{name}"] = True
            self._given[name] = data

    def after(self, tool: str, given: dict[str, Any]) -> tuple[Outcome, Possible, Wrote | None]:
        """Return (the answer of an undisturbed call, the state after it, its writes); the state itself stays."""
        then = self.copy()
        then.waiting = None
        if tool == UNDO and self.waiting is not None and self.waiting.cycle is None:
            return Outcome(mention=("was completed just now",)), then, None  # it completed the interrupted undo
        try:
            outcome = (
                Outcome(result=then.undo(given["count"])) if tool == UNDO else then.call(tool, copy.deepcopy(given))
            )
        except Refused:
            outcome = Outcome()
        if outcome.is_error:
            return outcome, self, None  # the pending change may still be pending
        if tool in READ_ONLY:
            return outcome, then, None
        if tool == UNDO:
            return outcome, then, Wrote(self._had(outcome.result["files"]), tuple(self.log), journaled=True)
        if len(then.cycles or []) > len(self.cycles or []):
            return outcome, then, then._archived(tool, self, outcome.result)
        if tool == "task_close":
            return outcome, then, None  # the call returned the answer of an earlier close
        name = _WRITTEN.get(tool) or ARTIFACTS + given["filename"]
        then.log.append(Change({name: (self.bytes_of(name), then.bytes_of(name))}))
        return outcome, then, Wrote(self._had((name,)), tuple(self.log))

    def undo(self, count: int) -> Any:
        """Take the last changes back. Raise Refused."""
        entries = [entry for entry in self.log[-count:] if isinstance(entry, Change)]
        if len(entries) < count:
            raise Refused
        files: dict[str, bytes | None] = {}
        for entry in reversed(entries):
            for name, (before, after) in entry.files.items():
                if (files[name] if name in files else self.bytes_of(name)) != after:
                    raise Refused
                files[name] = before
        for name, data in files.items():
            self.put(name, data)
        self.log = self.log[:-count]
        if any(not name.startswith(ARTIFACTS) for name in files):
            self.lost = None
        return {"files": {name: data is not None for name, data in files.items()}}

    def _had(self, names: Iterable[str]) -> dict[str, bytes | None]:
        return {name: self.bytes_of(name) for name in names}

    def _archived(self, tool: str, before: Possible, result: Any) -> Wrote:
        assert self.cycles
        self.log.append(self.cycles[-1]["completed_at"])
        self.receipts = []  # the client has continued without the answer
        if tool == "plan_start":
            return Wrote(before._had((PLAN,)), tuple(before.log), self.cycles[-1], journaled=True)
        files = before._had(name for name in (PLAN, TASKS) if before.bytes_of(name) is not None)
        return Wrote(files, tuple(before.log), self.cycles[-1], journaled=True, answer=result)
