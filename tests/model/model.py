"""The contract as plain values in memory: the answer of each tool, and the files afterwards.

Written from the contract alone; it shares no code with the package. `Model.call` returns an `Outcome`, `Model.files`
the bytes that the state files have to have.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from tests.model.arguments import PARAMETERS, Wrong, fitted
from tests.model.files import Refused
from tests.model.plans import Plans
from tests.model.shapes import summary
from tests.model.tasks import Tasks
from tests.support import compact
from tests.unknown_parts import unknown_to


@dataclass(frozen=True)
class Outcome:
    """An answer (`result`), or an error: its exact `message`, or the words that some message has to `mention`."""

    result: Any = None
    message: str = ""
    mention: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.result is None


WHERE = "class Plans, Tasks or Model (tests/model/plans.py, tasks.py, model.py)"


class Model(Plans, Tasks):
    """All tools."""

    def call(self, tool: str, given: dict[str, Any], *, delivered: bool = True) -> Outcome:
        assert hasattr(self, tool), unknown_to("model oracle", f"the tool {tool}", f"a method {tool} in {WHERE}")
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
