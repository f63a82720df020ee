"""The comparison of several runs on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from nexus_mcp.conformance.report.compare import in_short, letter
from nexus_mcp.conformance.report.left import left_lines
from nexus_mcp.conformance.report.summary import last_line
from nexus_mcp.conformance.report.terminal import make_console
from nexus_mcp.conformance.report.texts import counted, one_line
from nexus_mcp.conformance.result import FAILED, PASSED

if TYPE_CHECKING:
    from typing import IO

    from nexus_mcp.conformance.report.compare import Comparison, Share

_STYLES = {PASSED: "green", FAILED: "red"}


def show(comparison: Comparison, file: IO[str], width: int | None = None) -> None:
    """Prints to `file` who was compared, the table, and each fixture on which they differ."""
    console = make_console(file, width=width)
    for index, run in enumerate(comparison.runs):
        name = one_line(run.server or "(a server without a name)")
        console.print(Text(f"{letter(index)}  {name}  ").append(one_line(run.target), style="dim"), soft_wrap=True)
    console.print()
    console.print(_table(comparison))
    if comparison.different:
        console.print()
        count = counted(len(comparison.different), "fixture")
        console.print(Text(f"{count} on which they differ", style="bold"))
    for test_id, results in comparison.different.items():
        console.print(Text(one_line(test_id)), soft_wrap=True)
        for index, result in enumerate(results):
            line = Text(f"  {letter(index)}  {one_line(in_short(result), 400)}", style=_STYLES.get(result.status, ""))
            console.print(line, soft_wrap=True)
    console.print()
    for index, run in enumerate(comparison.runs):
        style = "green" if run.good else "red"
        console.print(Text(f"{letter(index)}  {last_line(run)}", style=style), soft_wrap=True)
    for run in comparison.runs:
        for told in left_lines(run):
            console.print(Text(told, style="red"), soft_wrap=True)


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("fixtures passed", overflow="fold")
    for index in range(len(comparison.runs)):
        table.add_column(letter(index), no_wrap=True)
    for name, shares in {**comparison.sections, "total": comparison.total}.items():
        table.add_row(Text(one_line(name, 60)), *map(_cell, shares))
    return table


def _cell(share: Share) -> Text:
    """ "✓ 5/5", "✗ 3/5", "3/3 +2 not run"."""
    if not share.run:
        return Text(f"{share.not_run} not run", style="dim")
    good = share.passed == share.run
    text = Text(f"{'✓' if good else '✗'} {share.passed}/{share.run}", style="green" if good else "red")
    if share.not_run:
        text.append(f" +{share.not_run} not run", style="dim")
    return text
