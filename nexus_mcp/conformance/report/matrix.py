"""Count a run: totals, one summary line, and assertions by tool and kind of check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.texts import count_noun, one_line
from nexus_mcp.conformance.result import CHECKS, FAILED, NOT_RUN, PASSED, Assertion
from nexus_mcp.conformance.settings import NOT_LOOKED_AT
from nexus_mcp.wording import join_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nexus_mcp.conformance.result import FixtureResult, RunResult

_NEEDS = "needs "
_OTHERS = 8

SCENARIOS = "scenarios"
ROBUSTNESS = "robustness"
EXECUTOR = "executor"
_EVENT = "event "
_KILL = "kill "


@dataclass(frozen=True)
class Totals:
    """The number of fixtures by outcome; each fixture counts for exactly one of the five outcomes."""

    passed: int
    failed: int
    not_run: int
    expected_failures: int
    healed: int


def totals(run: RunResult) -> Totals:
    """Return the number of fixtures of a run for each outcome."""
    healed, unexpected = len(run.healed_fixtures), len(run.unexpected_failures)
    return Totals(
        passed=len(run.having(PASSED)) - healed,
        failed=unexpected,
        not_run=len(run.having(NOT_RUN)),
        expected_failures=len(run.having(FAILED)) - unexpected,
        healed=healed,
    )


def not_run(run: RunResult) -> dict[str, list[FixtureResult]]:
    """Return reason -> the fixtures that were not run because of it, the most frequent reason first."""
    found: dict[str, list[FixtureResult]] = {}
    for result in run.having(NOT_RUN):
        found.setdefault(result.reason or "no reason", []).append(result)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def verdict(run: RunResult) -> str:
    """Return the verdict on the run: Passed, Failed, or Not run when no fixture was run."""
    if not run.good:
        return "Failed"
    return "Passed" if len(run.having(NOT_RUN)) < len(run.results) else "Not run"


def last_line(run: RunResult) -> str:
    """Return "231 passed, 2 failed, 18 not run (15 need --event-command, 3 need a process), 1 expected failure; level
    full"; without the level if the run has none.
    """
    count = totals(run)
    parts = [f"{count.passed} passed", f"{count.failed} failed"]
    if count.not_run:
        parts.append(f"{count.not_run} not run ({reasons(run)})")
    if count.expected_failures:
        ignored = sum(result.expected.startswith(NOT_LOOKED_AT) for result in run.having(FAILED))
        note = f" ({ignored} not looked at yet)" if ignored else ""
        parts.append(f"{count_noun(count.expected_failures, 'expected failure')}{note}")
    if count.healed:
        parts.append(f"{count.healed} expected to fail but passed")
    return "; ".join(filter(None, (", ".join(parts), level_note(run))))


def level_note(run: RunResult) -> str:
    """Return "level basic", or "level basic (selection)", or "" when the run has no level."""
    return f"level {run.level}{' (selection)' * run.is_selection}" if run.level else ""


def missing_tools_note(run: RunResult) -> str:
    """Return which tools the server lacks, and which other tools it lists; "" when no fixture lacks a tool."""
    missing = run.missing_tools
    if not missing:
        return ""
    number = sum(bool(result.missing_tools) for result in run.results)
    lines = f"The server lacks {and_names(missing)}: {count_noun(number, 'fixture')} not run."
    if run.other_tools:
        others = join_first(run.other_tools, _OTHERS, lambda name: one_line(name, 60))
        lines += f" It lists {others}: if one of them is meant, give its name with --tool-map."
    return lines


def and_names(names: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def reasons(run: RunResult) -> str:
    """Return why fixtures were not run: "15 need --event-command, 3 need a process"."""
    return ", ".join(_count_reason(reason, len(results)) for reason, results in not_run(run).items())


def _count_reason(reason: str, number: int) -> str:
    """Return "15 need --event-command" for the reason "needs --event-command", else "15: reason"."""
    if reason.startswith(_NEEDS):
        return one_line(f"{number} need{'s' if number == 1 else ''} {reason.removeprefix(_NEEDS)}")
    return f"{number}: {one_line(reason)}"


@dataclass
class Cell:
    """Counts of assertions or of fixtures: `passed` of `total`. `failed_in` has the ids of the fixtures that failed, or
    in which an assertion failed.
    """

    passed: int = 0
    total: int = 0
    failed_in: list[str] = field(default_factory=list)

    def add(self, test_id: str, *, holds: bool) -> None:
        self.total += 1
        self.passed += holds
        if not holds and test_id not in self.failed_in:
            self.failed_in.append(test_id)


@dataclass
class Row:
    """One tool or event: its fixtures, and its assertions by kind.

    `not_run`: the number of fixtures that were not run. `elsewhere`: the number of fixtures that fail only by
    assertions about other tools.
    """

    name: str
    fixtures: Cell = field(default_factory=Cell)
    not_run: int = 0
    elsewhere: int = 0
    checks: dict[str, Cell] = field(default_factory=lambda: {kind: Cell() for kind in CHECKS})


def matrix(run: RunResult) -> list[Row]:
    """Return a row for each tool and event that a fixture uses, tools first, by name.

    A fixture counts in the row of every tool that it uses, but a failed fixture only if an assertion about the tool
    fails. An assertion counts only for the tool of its step.
    """
    rows: dict[str, Row] = {}
    for result in run.results:
        at_fault = {tool_of(result, assertion) for assertion in assertions(result) if not assertion.passed}
        for tool in result.tools:
            row = rows.setdefault(tool, Row(tool))
            if result.status == NOT_RUN:
                row.not_run += 1
            elif result.status == FAILED and tool not in at_fault:
                row.elsewhere += 1
            else:
                row.fixtures.add(result.test_id, holds=result.status == PASSED)
        for assertion in assertions(result):
            tool = tool_of(result, assertion)
            checks = rows.setdefault(tool, Row(tool)).checks
            checks.setdefault(assertion.kind, Cell()).add(result.test_id, holds=assertion.passed)
    return [rows[name] for name in in_order(rows)]


def assertions(result: FixtureResult) -> tuple[Assertion, ...]:
    """Return the assertions of a fixture. If a failed fixture has no failed assertion, add one with the reason of the
    failure.
    """
    if result.status == FAILED and not result.failures:
        return (*result.assertions, Assertion("process", passed=False, message=result.reason or "failed"))
    return result.assertions


def tool_of(result: FixtureResult, assertion: Assertion) -> str:
    """Return the tool or event of an assertion: the last one of its step, else the last one of the fixture.

    Return "(no tool)" if the fixture has none.
    """
    requests = [(exchange.step, _tool(exchange.request)) for exchange in result.exchanges]
    known = [(step, tool) for step, tool in requests if tool in result.tools]
    of_step = [tool for step, tool in known if step == assertion.step]
    if of_step:
        return of_step[-1]
    if known:
        return known[-1][1]
    return result.tools[-1] if result.tools else "(no tool)"


def section(result: FixtureResult) -> str:
    """Return the section of a fixture: in the core its tool or event, or the scenarios if it uses several tools; else
    its group.
    """
    if result.group != "core":
        return result.group
    return result.tools[0] if len(result.tools) == 1 else SCENARIOS


def by_section(results: Iterable[FixtureResult]) -> dict[str, list[FixtureResult]]:
    """Return section -> its fixtures: tools, events, scenarios, then the other groups; within each by id."""
    found: dict[str, list[FixtureResult]] = {}
    for result in sorted(results, key=lambda result: result.test_id):
        found.setdefault(section(result), []).append(result)
    return {name: found[name] for name in in_order(found)}


def in_order(names: Iterable[str]) -> list[str]:
    """Return tools by name, then events, scenarios, robustness and executor."""
    return sorted(
        names,
        key=lambda name: (name == EXECUTOR, name == ROBUSTNESS, name == SCENARIOS, name.startswith(_EVENT), name),
    )


def _tool(request: str) -> str:
    return request.removeprefix(_KILL)
