"""Our server in this process, correct or with one fault, for the tests of the benchmark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.peers.servers import Server, Session
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.support import pretty

Json = dict[str, Any]
Change = Callable[[Json], object]


@dataclass(frozen=True)
class Wrong(Server):
    """Ours in this process; `changes` makes the answers of some tools wrong, `archived` the cycle that they archive."""

    changes: Mapping[str, Change] | None = None
    archived: Change | None = None

    def start(self, project: str | Path) -> Session:
        return cast("Session", InMemory(self, Path(project)))


class InMemory:
    def __init__(self, server: Wrong, root: Path) -> None:
        self.server, self.root, self.app, self.pid = server, root, App(Workspace(str(root))), os.getpid()

    def __enter__(self) -> InMemory:
        return self

    def __exit__(self, *told: object) -> None:
        pass

    def ready(self) -> float:
        return 1.0

    def call(self, tool: str, **arguments: Any) -> tuple[float, Json]:
        answered = self.app.call(tool, arguments, "benchmark")
        result: Json = answered.result["structuredContent"]
        answered.confirm_delivery()
        if self.server.archived and (tool == "task_close" or result.get("previousArchived")):
            file = self.root / ".nexus" / "history.json"
            kept = json.loads(file.read_bytes())
            self.server.archived(kept["cycles"][-1])
            file.write_bytes(pretty(kept))
        if self.server.changes and tool in self.server.changes:
            self.server.changes[tool](result)
        return 1.0, result
