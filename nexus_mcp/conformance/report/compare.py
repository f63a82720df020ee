"""Compare several runs of one suite: passes per section, and the fixtures that differ, on the screen and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from nexus_mcp.conformance.report.matrix import assertions, in_order, last_line, section
from nexus_mcp.conformance.report.terminal import make_console
from nexus_mcp.conformance.report.texts import count_noun, format_leftovers, in_words, one_line
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from nexus_mcp.conformance.result import FixtureResult, RunResult

_STYLES = {PASSED: "green", FAILED: "red"}

FORMAT = 1
_IN_SHORT = 120
"""Characters of a failed assertion in words."""


@dataclass(frozen=True)
class Share:
    """The numbers of fixtures of a section that passed, that ran, and that were not run."""

    passed: int
    run: int
    not_run: int


@dataclass(frozen=True)
class Comparison:
    """`sections`: a section (see matrix.section) -> its share in each run. `total`: the share of all fixtures in each
    run. `different`: the id of a fixture whose status differs -> its result in each run.
    """

    runs: tuple[RunResult, ...]
    sections: dict[str, tuple[Share, ...]]
    total: tuple[Share, ...]
    different: dict[str, tuple[FixtureResult, ...]]


def compare(runs: Sequence[RunResult]) -> Comparison:
    """Return the comparison of runs. It covers the fixtures that all the runs have."""
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


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a JSON value; runs are identified by their place in `targets`."""
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


def show(comparison: Comparison, file: IO[str], width: int | None = None) -> None:
    """Print to `file` the compared targets, the table, and each fixture on which they differ.

    After these, print the last line of each run, and the paths that could not be deleted.
    """
    console = make_console(file, width=width)
    for index, run in enumerate(comparison.runs):
        name = one_line(run.server or "(a server without a name)")
        console.print(Text(f"{letter(index)}  {name}  ").append(one_line(run.target), style="dim"), soft_wrap=True)
    console.print()
    console.print(_table(comparison))
    if comparison.different:
        console.print()
        count = count_noun(len(comparison.different), "fixture")
        console.print(Text(f"{count} on which the targets differ", style="bold"))
    for test_id, results in comparison.different.items():
        console.print(Text(one_line(test_id)), soft_wrap=True)
        for index, result in enumerate(results):
            outcome = Text(
                f"  {letter(index)}  {one_line(in_short(result), 400)}", style=_STYLES.get(result.status, "")
            )
            console.print(outcome, soft_wrap=True)
    console.print()
    for index, run in enumerate(comparison.runs):
        style = "green" if run.good else "red"
        console.print(Text(f"{letter(index)}  {last_line(run)}", style=style), soft_wrap=True)
    for run in comparison.runs:
        for line in format_leftovers(run.left):
            console.print(Text(line, style="red"), soft_wrap=True)


def letter(index: int) -> str:
    """Return the name of a run in the table: A, B … Z, then numbers."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def in_short(result: FixtureResult) -> str:
    """Return the status of a fixture, with its first failed assertion, or with the reason why it was not run."""
    if result.status == NOT_RUN:
        return f"{NOT_RUN}: {result.reason}"
    failed = [assertion for assertion in assertions(result) if not assertion.passed]
    return f"{FAILED}: {in_words(failed[0], _IN_SHORT)}" if failed else result.status


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("fixtures passed", overflow="fold")
    for index in range(len(comparison.runs)):
        table.add_column(letter(index), no_wrap=True)
    for name, shares in {**comparison.sections, "total": comparison.total}.items():
        table.add_row(Text(one_line(name, 60)), *map(_cell, shares))
    return table


def _cell(share: Share) -> Text:
    """Return a cell such as "✓ 5/5", "✗ 3/5" or "3/3 +2 not run"."""
    if not share.run:
        return Text(f"{share.not_run} not run", style="dim")
    good = share.passed == share.run
    text = Text(f"{'✓' if good else '✗'} {share.passed}/{share.run}", style="green" if good else "red")
    if share.not_run:
        text.append(f" +{share.not_run} not run", style="dim")
    return text


def _shares(rows: list[tuple[FixtureResult, ...]], columns: int) -> tuple[Share, ...]:
    statuses = [[results[column].status for results in rows] for column in range(columns)]
    return tuple(
        Share(column.count(PASSED), len(column) - column.count(NOT_RUN), column.count(NOT_RUN)) for column in statuses
    )
