"""Several runs of one suite side by side: what each passes, tool by tool, and the fixtures on which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.report.failure import in_words
from nexus_mcp.conformance.report.matrix import assertions, in_order, section
from nexus_mcp.conformance.report.summary import last_line
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.conformance.result import FixtureResult, RunResult

FORMAT = 1
_IN_SHORT = 120
"""Characters of a value."""


@dataclass(frozen=True)
class Share:
    """How many fixtures of a section passed, of those that were run, and how many were not."""

    passed: int
    run: int
    not_run: int


@dataclass(frozen=True)
class Comparison:
    """`sections`: a tool, event or group -> a share for each run; `different`: test_id -> a result for each run."""

    runs: tuple[RunResult, ...]
    sections: dict[str, tuple[Share, ...]]
    total: tuple[Share, ...]
    different: dict[str, tuple[FixtureResult, ...]]


def compared(runs: Sequence[RunResult]) -> Comparison:
    """The comparison of runs of the same fixtures."""
    by_id = [{result.test_id: result for result in run.results} for run in runs]
    ids = sorted(set.intersection(*(set(results) for results in by_id)))
    rows = {test_id: tuple(results[test_id] for results in by_id) for test_id in ids}
    names = {test_id: section(results[0]) for test_id, results in rows.items()}
    return Comparison(
        runs=tuple(runs),
        sections={
            name: _shares([results for test_id, results in rows.items() if names[test_id] == name], len(runs))
            for name in in_order(set(names.values()))
        },
        total=_shares(list(rows.values()), len(runs)),
        different={
            test_id: results for test_id, results in rows.items() if len({result.status for result in results}) > 1
        },
    )


def letter(index: int) -> str:
    """A, B … Z, then numbers: how the runs are called in the table."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def in_short(result: FixtureResult) -> str:
    """How one fixture came out, with the first thing that is wrong."""
    if result.status == NOT_RUN:
        return f"{NOT_RUN}: {result.reason}"
    failed = [assertion for assertion in assertions(result) if not assertion.passed]
    return f"{FAILED}: {in_words(failed[0], _IN_SHORT)}" if failed else result.status


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a JSON value; runs are told by their place in `targets`."""
    return {
        "format": FORMAT,
        "targets": [
            {"target": run.target, "server": run.server, "protocol": run.protocol, "summary": last_line(run)}
            for run in comparison.runs
        ],
        "sections": {
            name: [{"passed": share.passed, "run": share.run, "not_run": share.not_run} for share in shares]
            for name, shares in {**comparison.sections, "total": comparison.total}.items()
        },
        "different": {
            test_id: [{"status": result.status, "what": in_short(result)} for result in results]
            for test_id, results in comparison.different.items()
        },
    }


def _shares(rows: list[tuple[FixtureResult, ...]], columns: int) -> tuple[Share, ...]:
    statuses = [[results[column].status for results in rows] for column in range(columns)]
    return tuple(
        Share(column.count(PASSED), len(column) - column.count(NOT_RUN), column.count(NOT_RUN)) for column in statuses
    )
