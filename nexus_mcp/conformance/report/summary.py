"""The counts of a run, and the line that tells them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.texts import one_line
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED

if TYPE_CHECKING:
    from nexus_mcp.conformance.result import FixtureResult, RunResult

_NEEDS = "needs "


@dataclass(frozen=True)
class Totals:
    """How many fixtures came out how; each is in exactly one of the five."""

    passed: int
    failed: int
    not_run: int
    expected_failures: int
    healed: int


def totals(run: RunResult) -> Totals:
    """The counts of a run: what was expected to fail is counted apart from what passed and what failed."""
    healed, unexpected = len(run.healed), len(run.unexpected)
    return Totals(
        passed=len(run.having(PASSED)) - healed,
        failed=unexpected,
        not_run=len(run.having(NOT_RUN)),
        expected_failures=len(run.having(FAILED)) - unexpected,
        healed=healed,
    )


def not_run(run: RunResult) -> dict[str, list[FixtureResult]]:
    """Reason -> the fixtures that were not run for it, the most frequent reason first."""
    found: dict[str, list[FixtureResult]] = {}
    for result in run.having(NOT_RUN):
        found.setdefault(result.reason or "no reason given", []).append(result)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def verdict(run: RunResult) -> str:
    """One word about the run: Passed, Failed, or Not run when nothing was."""
    if not run.good:
        return "Failed"
    return "Passed" if len(run.having(NOT_RUN)) < len(run.results) else "Not run"


def last_line(run: RunResult) -> str:
    """ "231 passed, 2 failed, 18 not run (15 need --event-command, 3 need a process), 1 expected failure"."""
    count = totals(run)
    parts = [f"{count.passed} passed", f"{count.failed} failed"]
    if count.not_run:
        parts.append(f"{count.not_run} not run ({reasons(run)})")
    if count.expected_failures:
        parts.append(f"{count.expected_failures} expected failure{'' if count.expected_failures == 1 else 's'}")
    if count.healed:
        parts.append(f"{count.healed} expected to fail but passed")
    return ", ".join(parts)


def reasons(run: RunResult) -> str:
    """Why fixtures were not run: "15 need --event-command, 3 need a process"."""
    return ", ".join(_counted(reason, len(results)) for reason, results in not_run(run).items())


def _counted(reason: str, number: int) -> str:
    """ "15 need --event-command" for the reason "needs --event-command", else "15: reason"."""
    if reason.startswith(_NEEDS):
        return one_line(f"{number} need{'s' if number == 1 else ''} {reason.removeprefix(_NEEDS)}")
    return f"{number}: {one_line(reason)}"
