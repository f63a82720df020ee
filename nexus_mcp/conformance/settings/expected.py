"""Known failures: a file of fixtures that fail, each with the reason. An entry that passes now fails the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nexus_mcp.conformance.nearest import did_you_mean
from nexus_mcp.conformance.settings import flat_yaml
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from nexus_mcp.conformance.result import FixtureResult, RunResult


def load(path: str, known: Collection[str]) -> dict[str, str]:
    """test_id -> reason, from a YAML mapping. `known` are the ids of the whole suite.

    Raises HarnessFault with a line for each fault, an id that is not in the suite among them.
    """
    entries = flat_yaml.read(path, "test_id", "reason")
    faults = [
        f"{path}:{entry.line}: no fixture is called {test_id}{did_you_mean(test_id, known)}"
        for test_id, entry in entries.items()
        if test_id not in known
    ]
    if faults:
        raise HarnessFault(faults, next_step="Take the entry out, or mend its name.")
    return {test_id: entry.text.strip() for test_id, entry in entries.items()}


def mark(result: FixtureResult, reasons: Mapping[str, str]) -> FixtureResult:
    """The result with the reason that `reasons` has for it."""
    return replace(result, expected=reasons.get(result.test_id, ""))


def apply(run: RunResult, reasons: Mapping[str, str]) -> RunResult:
    """The run with every result marked."""
    return replace(run, results=tuple(mark(result, reasons) for result in run.results))
