"""Read the raw files of a project: they are complete at every moment, and the history only grows."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from nexus_mcp.store.atomic import PREFIX
from tests.reliability.suite import Json
from tests.reliability.suites.kills.load import ARTIFACTS, is_whole

_STATE = {"plan.json": "issues", "tasks.json": "tasks", "txn.json": "id"}  # file: one of its fields


@dataclass
class Files:
    """The stored state: the plan and the tasks (None where absent), the cycles, {name: content} of the artifacts."""

    plan: Json
    tasks: Json
    cycles: list[Json]
    artifacts: dict[str, str]

    @property
    def all_plans(self) -> list[Json]:
        """The archived plans, then the open one."""
        plans = [cycle["plan"] for cycle in self.cycles if cycle["plan"] is not None]
        return plans if self.plan is None else [*plans, self.plan]

    @property
    def all_tasks(self) -> list[Json]:
        """The archived tasks, then the open ones."""
        lists = [cycle["tasks"] for cycle in self.cycles] + ([self.tasks["tasks"]] if self.tasks is not None else [])
        return [task for tasks in lists for task in tasks]


def read(root: Path) -> Files:
    """Return the present files. Raise ValueError for a torn one."""
    nexus = root / ".nexus"
    history = _json(nexus / "history.json") or {"cycles": []}
    found = {name: _json(nexus / "state" / name) for name in ("plan.json", "tasks.json")}
    artifacts = {}
    for name in ARTIFACTS:
        path = nexus / "state" / "artifacts" / name
        if path.exists():
            artifacts[name] = path.read_text()
    return Files(found["plan.json"], found["tasks.json"], history["cycles"], artifacts)


def leftovers(root: Path) -> list[str]:
    """Return the leftovers of a crash that the next write has to remove: temporary files, a journal, receipts."""
    names = [name for _, _, names in os.walk(root / ".nexus") for name in names]
    return sorted(name for name in names if name.startswith((PREFIX, "closed-", "conflict-")) or name == "txn.json")


@dataclass
class Reader:
    """A reader without the lock, which reads the files from time to time. `faults`: states that it must never see."""

    root: Path
    faults: list[str] = field(default_factory=list)
    looks: int = 0
    _history: bytes = b""

    def glance(self) -> None:
        """Read and check one of the files, each in turn."""
        self.looks += 1
        names = [*_STATE, "history.json", *ARTIFACTS]
        name = names[self.looks % len(names)]
        state = self.root / ".nexus" / "state"
        if name == "history.json":
            self._look_at_history()
        elif name in _STATE:
            data = _bytes(state / name)
            if data is not None and not _has(data, _STATE[name]):
                self.faults.append(f"{name} was torn: {len(data)} bytes that end with {data[-20:]!r}")
        else:
            data = _bytes(state / "artifacts" / name)
            if data is not None and not is_whole(data.decode()):
                self.faults.append(f"the artifact {name} was torn: {len(data)} bytes that begin with {data[:20]!r}")

    def look(self) -> None:
        """Read and check all of the files."""
        for _ in range(len(_STATE) + 1 + len(ARTIFACTS)):
            self.glance()

    def _look_at_history(self) -> None:
        data = _bytes(self.root / ".nexus" / "history.json")
        if data is None:
            if self._history:
                self.faults.append("history.json was gone")
            return
        # The old bytes up to the end of the list of cycles must stay.
        if not _has(data, "cycles") or not data.startswith(_without_closing(self._history)):
            self.faults.append(f"history.json was torn, or an old cycle changed: {len(data)} bytes")
        self._history = data


def _without_closing(history: bytes) -> bytes:
    rest = history.rstrip()
    for char in (b"}", b"]"):
        rest = rest.removesuffix(char).rstrip()
    return rest


def _has(data: bytes, member: str) -> bool:
    try:
        value = json.loads(data)
    except ValueError:
        return False
    return isinstance(value, dict) and member in value


def _json(path: Path) -> Json:
    data = _bytes(path)
    return None if data is None else json.loads(data)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
