"""The state of a project in the model, and the bytes of its files."""

from __future__ import annotations

import copy
from typing import Any

from tests.model.shapes import TASK_KEYS, ordered, ordered_plan, ordered_tasks
from tests.support import Clock, pretty, stamp


class Refused(Exception):
    """One of the contract's exact messages."""


class Kept:
    """The state of a project. `root` is its path, `lost` the undelivered answer of a close."""

    def __init__(self, root: str, clock: Clock, branch: str = "main", plan: Any = None, tasks: Any = None) -> None:
        self.root = root
        self.clock = clock
        self.branch = branch
        self.plan = copy.deepcopy(plan)
        self.tasks = copy.deepcopy(tasks)
        self.cycles: list[Any] | None = None
        self.artifacts: dict[str, str] = {}
        self.lost: Any = None
        # A file that no call rewrites keeps its first bytes.
        self.untouched = {"state/plan.json": plan is not None, "state/tasks.json": tasks is not None}

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

    def _archive(self, rows: list[Any]) -> Any:
        self.cycles = self.cycles or []
        at = self.clock.ms
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
