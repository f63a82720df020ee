"""Show a run on the screen: failures as they occur, then each in full, then the counts in one line.

A terminal has a progress bar. A log has none, since hundreds of lines would hide the failures.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, NoReturn, cast

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from nexus_mcp.conformance.report.matrix import assertions, by_section, last_line
from nexus_mcp.conformance.report.texts import (
    Trimmed,
    cut_note,
    escaped,
    format_leftovers,
    in_words,
    note,
    one_line,
    place,
    seen,
    shown,
)
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED, Cut

if TYPE_CHECKING:
    from types import TracebackType

    from nexus_mcp.conformance.result import Assertion, FixtureResult, RunResult

WIDTH = 120
"""Columns when the output is not a terminal, such as in the log of a CI job."""
LONGEST = 200
MOST = 8
"""Failed assertions of one fixture that are shown; the reports have them all."""


class RaisingConsole(Console):
    """A console that raises when the reader of its output goes away; rich's own would end the process with code 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def make_console(file: IO[str], *, terminal: bool | None = None, width: int | None = None) -> Console:
    """Return a console that interprets neither markup nor emoji names in a text.

    Lines never end with blanks when the output is not a terminal.
    """
    variables = dict(os.environ)
    if not variables.get("COLUMNS", "").strip("0"):
        variables.pop("COLUMNS", None)  # rich prints nothing in zero columns
    console = RaisingConsole(
        file=file, force_terminal=terminal, width=width, highlight=False, markup=False, emoji=False, _environ=variables
    )
    if width is None and not console.is_terminal and "COLUMNS" not in variables:
        console.width = WIDTH
    if not console.is_terminal:
        console.file = cast("IO[str]", Trimmed(file))
    return console


class Screen:
    """Show one run of `total` fixtures on `file`. `terminal` and `width` are detected when they are None.

    `quiet`: no line for a fixture, only the bar of a terminal.
    """

    def __init__(
        self, total: int, file: IO[str], *, terminal: bool | None = None, width: int | None = None, quiet: bool = False
    ) -> None:
        self._quiet = quiet
        console = make_console(file, terminal=terminal, width=width)
        self._console = console
        self._counts = {PASSED: 0, FAILED: 0, NOT_RUN: 0}
        self._running: dict[str, None] = {}
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Screen:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def line(self, text: str, style: str = "") -> None:
        """Print one line, escaped, wrapped by the terminal only."""
        self._console.print(Text(one_line(text, 2000), style=style), soft_wrap=True)

    def started(self, test_id: str) -> None:
        """Show that a fixture begins."""
        self._running[test_id] = None
        self._describe()

    def ended(self, result: FixtureResult) -> None:
        """Show the result of a fixture, whose expected failure is marked already."""
        self._running.pop(result.test_id, None)
        self._counts[result.status] += 1
        line = "" if self._quiet else _alarm(result)
        if line:
            self.line(line, "red")
        self._progress.advance(self._task)
        self._describe()

    def failures(self, run: RunResult) -> None:
        """Print a table for each unexpected failure, and a line for each fixture with an expected failure."""
        for results in by_section(run.unexpected).values():
            for result in results:
                self._failure(result)
        known = [result for result in run.having(FAILED) if result.expected]
        if known or run.healed:
            self._console.print()
        for result in known:
            self.line(f"expected failure: {result.test_id}: {result.expected}", "yellow")
        for result in run.healed:
            entry = f"{result.test_id} passed, but is expected to fail ({result.expected}): remove the entry"
            self.line(entry, "red")
        if known or not run.good:
            self._console.print()

    def last_line(self, run: RunResult) -> None:
        """Print the counts, and before them notes about cut evidence of failures and about undeleted files."""
        if cut := sum((result.cut for result in run.unexpected), Cut()):
            self.line(cut_note(cut), "dim")
        for line in format_leftovers(run.left):
            self.line(line, "red")
        self.line(last_line(run), "bold green" if run.good else "bold red")

    def _describe(self) -> None:
        counts = ", ".join(f"{number} {status}" for status, number in self._counts.items() if number)
        running = ", ".join(self._running)
        text = escaped(f"{counts}  {running}" if counts else running)
        # Bar and numbers take about 40 columns; a second line would make the bar jump.
        room = max(10, self._console.width - 45)
        self._progress.update(self._task, description=text if len(text) <= room else f"{text[: room - 1]}…")

    def _failure(self, result: FixtureResult) -> None:
        self._console.print()
        self._console.print(
            Text(f"✗ {one_line(result.test_id)}", style="bold red"), Text(one_line(result.source), style="dim")
        )
        self._indented(Text(one_line(result.description), style="italic"))
        failed = [assertion for assertion in assertions(result) if not assertion.passed]
        with_value = [assertion for assertion in failed[:MOST] if assertion.path]
        if with_value:
            self._indented(_table(with_value))
        for assertion in failed[:MOST]:
            if not assertion.path:
                self._indented(Text(in_words(assertion, LONGEST * 2)))
        if len(failed) > MOST:
            self._indented(Text(f"… and {len(failed) - MOST} more; --report report.html has them all", style="dim"))

    def _indented(self, what: Text | Table) -> None:
        self._console.print(Padding(what, (0, 0, 0, 2), expand=False))


def _alarm(result: FixtureResult) -> str:
    """Return one line for a fixture that makes the run fail, "" for any other."""
    head = f"{result.test_id} ({result.seconds:.2f} s)"
    if result.status == PASSED and result.expected:
        return f"PASSED   {head}, expected to fail"
    if result.status != FAILED or result.expected:
        return ""
    first = next(assertion for assertion in assertions(result) if not assertion.passed)
    return f"FAILED   {head}: {in_words(first)}"


def _table(failed: list[Assertion]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name, ratio in (("assertion", 3), ("JSONPath", 3), ("expected", 4), ("seen", 5)):
        table.add_column(name, overflow="fold", max_width=12 * ratio)
    for assertion in failed:
        where = place(assertion)
        what = Text(assertion.kind if where == assertion.kind else f"{one_line(assertion.kind)}: {where}")
        found = Text(seen(assertion, LONGEST), style="red")
        if note(assertion):
            found.append(f"\n{one_line(note(assertion), LONGEST)}", style="dim")
        expected = Text(shown(assertion.expected, LONGEST), style="green")
        table.add_row(what, Text(one_line(assertion.path)), expected, found)
    return table
