"""Tools × checks: how many assertions of each kind hold, for each tool and event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nexus_mcp.conformance.result import CHECKS, FAILED, NOT_RUN, PASSED, Assertion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nexus_mcp.conformance.result import FixtureResult, RunResult

SCENARIOS = "scenarios"
ROBUSTNESS = "robustness"
_EVENT = "event "
_KILL = "kill "


@dataclass
class Cell:
    """How many of `total` hold, and the ids of the fixtures where one does not."""

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

    `not_run` of the fixtures were not run; `elsewhere` fail, but no assertion about this tool does.
    """

    name: str
    fixtures: Cell = field(default_factory=Cell)
    not_run: int = 0
    elsewhere: int = 0
    checks: dict[str, Cell] = field(default_factory=lambda: {kind: Cell() for kind in CHECKS})


def matrix(run: RunResult) -> list[Row]:
    """A row for each tool and event that a fixture asks, tools first, by name.

    A fixture counts in the row of every tool it asks, one that fails only where an assertion about the tool does; an
    assertion counts for the tool asked in its step alone.
    """
    rows: dict[str, Row] = {}
    for result in run.results:
        at_fault = {asked_by(result, assertion) for assertion in assertions(result) if not assertion.passed}
        for tool in result.tools:
            row = rows.setdefault(tool, Row(tool))
            if result.status == NOT_RUN:
                row.not_run += 1
            elif result.status == FAILED and tool not in at_fault:
                row.elsewhere += 1
            else:
                row.fixtures.add(result.test_id, holds=result.status == PASSED)
        for assertion in assertions(result):
            tool = asked_by(result, assertion)
            checks = rows.setdefault(tool, Row(tool)).checks
            checks.setdefault(assertion.kind, Cell()).add(result.test_id, holds=assertion.passed)
    return [rows[name] for name in in_order(rows)]


def assertions(result: FixtureResult) -> tuple[Assertion, ...]:
    """The assertions of a fixture. One that failed without any has its reason as one."""
    if result.status == FAILED and not result.failures:
        return (*result.assertions, Assertion("process", passed=False, message=result.reason or "failed"))
    return result.assertions


def asked_by(result: FixtureResult, assertion: Assertion) -> str:
    """The tool or event that an assertion is about: the one of its step, the last one for the postcondition."""
    asked = [(exchange.step, _tool(exchange.asked)) for exchange in result.exchanges]
    known = [(step, tool) for step, tool in asked if tool in result.tools]
    of_step = [tool for step, tool in known if step == assertion.step]
    if of_step:
        return of_step[-1]
    if known:
        return known[-1][1]
    return result.tools[-1] if result.tools else "(no tool)"


def section(result: FixtureResult) -> str:
    """Where a fixture is listed: under its tool or event, or with the scenarios when it asks several."""
    if result.group != "core":
        return result.group
    return result.tools[0] if len(result.tools) == 1 else SCENARIOS


def by_section(results: Iterable[FixtureResult]) -> dict[str, list[FixtureResult]]:
    """Section -> its fixtures: tools, events, scenarios, then the other groups; within it by id."""
    found: dict[str, list[FixtureResult]] = {}
    for result in sorted(results, key=lambda result: result.test_id):
        found.setdefault(section(result), []).append(result)
    return {name: found[name] for name in in_order(found)}


def in_order(names: Iterable[str]) -> list[str]:
    """Tools by name, then events, then scenarios, then robustness."""
    return sorted(names, key=lambda name: (name == ROBUSTNESS, name == SCENARIOS, name.startswith(_EVENT), name))


def _tool(asked: str) -> str:
    return asked.removeprefix(_KILL)
