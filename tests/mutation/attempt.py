"""Run fixtures against one mutant, and return those that fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nexus_mcp.server.sdk  # noqa: F401 - once for all forks: the SDK takes longer to import than a fixture to run
from nexus_mcp.conformance.result import FAILED
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import in_memory
from nexus_mcp.conformance.trial import steps
from tests.mutation.hook import send_in_fork
from tests.mutation.install import install
from tests.mutation.modules import SERVED
from tests.mutation.mutator import mutations

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture

ROOT = Path(__file__).resolve().parent.parent.parent
UNUSABLE = "(does not start)"
_TIMEOUT = 30.0
_FIRST = 1


@dataclass(frozen=True)
class Mutant:
    """A mutated module, without `.py`; `source` is its text, `function` the function that has the change."""

    module: str
    line: int
    change: str
    source: str
    function: str = ""

    @property
    def place(self) -> str:
        return f"nexus_mcp/{self.module}.py:{self.line}"


def mutants(module: str, change: str = "") -> Iterator[Mutant]:
    """Yield every mutant of a module, or those with this change."""
    source = (ROOT / "nexus_mcp" / f"{module}.py").read_text(encoding="utf-8")
    for mutation in mutations(source):
        if change in ("", mutation.change):
            yield Mutant(module, mutation.line, mutation.change, ast.unparse(mutation.tree), mutation.function)


def concerned(module: str, fixtures: Sequence[Fixture]) -> list[Fixture]:
    """Return the fixtures that test the module, with as few processes as possible."""
    served = set(SERVED[module])
    events = any(" " in name for name in served)
    return [
        f for f in fixtures if served.intersection(f.tools) and not f.needs_process and (events or not f.needs_events)
    ]


def failing(mutant: Mutant, fixtures: Sequence[Fixture], *, first: bool) -> list[str]:
    """Return the ids of the fixtures that fail; with `first`, stop after the first. Call it in a process of its own."""
    install(mutant.module, mutant.source)
    try:
        from nexus_mcp.lifecycle import (
            EVENTS,
            guard,  # noqa: F401 - so that not every fork loads it
        )
        from nexus_mcp.server.app import App
        from nexus_mcp.server.sdk import build_server
        from nexus_mcp.workspace import Workspace

        for row in EVENTS.values():
            row.load()
    except Exception:  # noqa: BLE001 - the import of a mutated module may raise anything
        return [UNUSABLE]

    class Plain(App):
        """A server without output schemas: the fixtures have to find the fault, not the check of its own schemas."""

        def tools(self) -> list[dict[str, Any]]:
            return [{k: v for k, v in tool.items() if k != "outputSchema"} for tool in super().tools()]

    vars(steps)["send_event"] = send_in_fork
    options = TargetOptions(event_command=("in a fork",), timeout=_TIMEOUT)
    target = in_memory(lambda root: build_server(Plain(Workspace(root))), options, mutant.place)
    failed: list[str] = []
    done, size = 0, _FIRST if first else len(fixtures)
    while done < len(fixtures) and not (first and failed):
        part = fixtures[done : done + size]
        failed += [result.test_id for result in run(part, target, jobs=1).having(FAILED)]
        done, size = done + size, size * 2
    return failed
