"""A run on the screen: what fails as it fails, then each failure with all there is to it, then the counts in one line.

On a terminal a bar shows the progress; in a log, where hundreds of lines would hide what failed, nothing does.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, NoReturn, cast

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from nexus_mcp.conformance.report.failure import in_words, note, place, seen
from nexus_mcp.conformance.report.left import left_lines
from nexus_mcp.conformance.report.matrix import assertions, by_section
from nexus_mcp.conformance.report.summary import last_line
from nexus_mcp.conformance.report.texts import cut_note, escaped, one_line, shown
from nexus_mcp.conformance.report.trimmed import Trimmed
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED, Cut

if TYPE_CHECKING:
    from types import TracebackType

    from nexus_mcp.conformance.result import Assertion, FixtureResult, RunResult

WIDTH = 120
"""Columns where there is no terminal to ask, such as in the log of a CI job."""
LONGEST = 200
MOST = 8
"""Assertions of one fixture that are shown; the reports have them all."""


class _Console(Console):
    """Rich's own would end the process with code 1 and say nothing when the reader of the output goes away."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def make_console(file: IO[str], *, terminal: bool | None = None, width: int | None = None) -> Console:
    """A console that takes nothing of a text for markup or for the name of an emoji.

    Where it is no terminal no line ends with blanks.
    """
    surroundings = dict(os.environ)
    if not surroundings.get("COLUMNS", "").strip("0"):
        surroundings.pop("COLUMNS", None)  # rich would print nothing at all in no columns
    console = _Console(
        file=file,
        force_terminal=terminal,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        _environ=surroundings,
    )
    if width is None and not console.is_terminal and "COLUMNS" not in surroundings:
        console.width = WIDTH
    if not console.is_terminal:
        console.file = cast("IO[str]", Trimmed(file))
    return console


class Screen:
    """Shows one run of `total` fixtures on `file`. `terminal` and `width` are found out when they are not given.

    `quiet`: no line for a fixture, only the bar of a terminal.
    """

    def __init__(
        self,
        total: int,
        file: IO[str],
        *,
        terminal: bool | None = None,
        width: int | None = None,
        quiet: bool = False,
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
        """One line, escaped, wrapped by nobody but the terminal."""
        self._console.print(Text(one_line(text, 2000), style=style), soft_wrap=True)

    def started(self, test_id: str) -> None:
        """A fixture begins."""
        self._running[test_id] = None
        self._describe()

    def ended(self, result: FixtureResult) -> None:
        """A fixture came out; its expected failure is marked already."""
        self._running.pop(result.test_id, None)
        self._counts[result.status] += 1
        told = "" if self._quiet else _alarm(result)
        if told:
            self.line(told, "red")
        self._progress.advance(self._task)
        self._describe()

    def failures(self, run: RunResult) -> None:
        """A table for each fixture that failed unexpectedly, and a line for each that is at odds with the entries."""
        for results in by_section(run.unexpected).values():
            for result in results:
                self._failure(result)
        known = [result for result in run.having(FAILED) if result.expected]
        if known or run.healed:
            self._console.print()
        for result in known:
            self.line(f"expected failure: {result.test_id}: {result.expected}", "yellow")
        for result in run.healed:
            entry = f"{result.test_id} passed, but is expected to fail ({result.expected}): take the entry out"
            self.line(entry, "red")
        if known or not run.good:
            self._console.print()

    def last_line(self, run: RunResult) -> None:
        """The counts of everything, and before them what of failures was cut and what could not be deleted."""
        if cut := sum((result.cut for result in run.unexpected), Cut()):
            self.line(cut_note(cut), "dim")
        for told in left_lines(run):
            self.line(told, "red")
        self.line(last_line(run), "bold green" if run.good else "bold red")

    def _describe(self) -> None:
        counts = ", ".join(f"{number} {status}" for status, number in self._counts.items() if number)
        running = ", ".join(self._running)
        text = escaped(f"{counts}  {running}" if counts else running)
        # The bar and the numbers before it take some forty columns; a second line would make the bar jump.
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
    """A fixture that makes the run fail, in a line; "" for any other."""
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
