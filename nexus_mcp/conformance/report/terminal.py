"""Show a run on the screen: each new cause as it occurs, then the causes with examples, then the counts.

A terminal has a progress bar. A log has a line a minute instead, since hundreds of lines would hide the failures.
"""

from __future__ import annotations

import os
import threading
import time
from typing import IO, TYPE_CHECKING, NoReturn, cast

from rich.console import Console
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from nexus_mcp.conformance.failures import last_lines
from nexus_mcp.conformance.fixture import CORE
from nexus_mcp.conformance.report.causes import causes, key_of
from nexus_mcp.conformance.report.matrix import assertions, last_line, missing_tools_note
from nexus_mcp.conformance.report.texts import (
    TrimmedFile,
    count_noun,
    cut_note,
    escape,
    format_leftovers,
    format_rules,
    format_seen,
    format_value,
    in_words,
    note,
    one_line,
    place,
)
from nexus_mcp.conformance.result import FAILED, NOT_RUN, PASSED, Cut
from nexus_mcp.wording import join_first, rest_line

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import TracebackType

    from nexus_mcp.conformance.report.causes import Cause
    from nexus_mcp.conformance.result import Assertion, Exchange, FixtureResult, RunResult

WIDTH = 120
"""The width in columns if the output is not a terminal, for example in the log of a CI job."""
LONGEST = 200
IN_TABLE = 120
"""Characters of a value in a table."""
MOST = 8
"""Failed assertions of one fixture that are shown; the reports have them all."""
MOST_CAUSES = 10
"""Causes that are shown with an example; the others are shown with their heading only."""
NAMED = 6
"""Tools of a cause, and further fixtures of it, that are named."""
SUMMARY, NORMAL, VERBOSE = "summary", "normal", "verbose"
"""The amount of output: a heading for each cause; also an example for the first MOST_CAUSES; every failure in full."""
EXPECTED = "failed as expected"
INTERVAL_S = 60.0
"""Seconds between two lines about the progress when the output is not a terminal."""


class RaisingConsole(Console):
    """A console that raises when the reader of its output goes away; rich's own ends the process with code 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def make_console(file: IO[str], *, terminal: bool | None = None, width: int | None = None) -> Console:
    """Return a console that interprets neither markup nor emoji names in a text.

    If the output is not a terminal, no line ends with blanks.
    """
    variables = dict(os.environ)
    if not variables.get("COLUMNS", "").strip("0"):
        variables.pop("COLUMNS", None)  # with a width of 0, rich prints nothing
    console = RaisingConsole(
        file=file, force_terminal=terminal, width=width, highlight=False, markup=False, emoji=False, _environ=variables
    )
    if width is None and not console.is_terminal and "COLUMNS" not in variables:
        console.width = WIDTH
    if not console.is_terminal:
        console.file = cast("IO[str]", TrimmedFile(file))
    return console


class Screen:
    """Show one run of `total` fixtures on `file`. `terminal` and `width` are detected when they are None.

    `detail` is SUMMARY, NORMAL or VERBOSE. `quiet`: no line for a fixture, only the progress.
    """

    def __init__(
        self,
        total: int,
        file: IO[str],
        *,
        terminal: bool | None = None,
        width: int | None = None,
        quiet: bool = False,
        detail: str = NORMAL,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._quiet = quiet or detail == SUMMARY
        self._detail = detail
        self._total = total
        self._began = time.monotonic()
        console = make_console(file, terminal=terminal, width=width)
        self._console = console
        self._counts = {PASSED: 0, FAILED: 0, EXPECTED: 0, NOT_RUN: 0}
        self._running: dict[str, None] = {}
        self._shown: set[Hashable] = set()
        self._interval_s = interval_s
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Screen:
        self._progress.start()
        if not self._console.is_terminal:
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self._progress.stop()

    def line(self, text: str, style: str = "") -> None:
        """Print one line, escaped; only the terminal wraps it."""
        self._console.print(Text(one_line(text, 2000), style=style), soft_wrap=True)

    def show_start(self, test_id: str) -> None:
        """Show that a fixture begins."""
        self._running[test_id] = None
        self._describe()

    def show_result(self, result: FixtureResult) -> None:
        """Show the result of a fixture, in which an expected failure is already marked."""
        self._running.pop(result.test_id, None)
        is_known = result.status == FAILED and result.expected
        self._counts[EXPECTED if is_known else result.status] += 1
        line = "" if self._quiet else _alarm(result)
        if line and self._is_new(result):
            self.line(line, "red")
        self._progress.advance(self._task)
        self._describe()

    def failures(self, run: RunResult) -> None:
        """Print the causes of the unexpected failures, and the expected failures that passed.

        With VERBOSE, also print the expected failures that failed.
        """
        found = causes(run.unexpected_failures)
        if self._detail == VERBOSE:
            for cause in found:
                self._heading(cause)
                for result in cause.results:
                    self._failure(result)
        else:
            shown = found if self._detail == NORMAL else []
            for cause in shown[:MOST_CAUSES]:
                self._heading(cause)
                self._failure(cause.example)
                self._others(cause)
            for place, cause in enumerate(found[len(shown[:MOST_CAUSES]) :]):
                self._heading(cause, apart=place == 0)
        self._print_expected(run)

    def _print_expected(self, run: RunResult) -> None:
        """Print the expected failures that passed, and with VERBOSE those that failed; the last line counts both."""
        known = [result for result in run.having(FAILED) if result.expected] if self._detail == VERBOSE else []
        if known or run.healed_fixtures:
            self._console.print()
        for result in known:
            self.line(f"expected failure: {result.test_id}: {result.expected}", "yellow")
        by_reason: dict[str, list[FixtureResult]] = {}
        for result in run.healed_fixtures:
            by_reason.setdefault(result.expected, []).append(result)
        for reason, healed in by_reason.items():
            if len(healed) == 1:
                entry = f"{healed[0].test_id} passed, but is expected to fail ({reason}): remove the entry"
                self.line(entry, "red")
            else:
                number = count_noun(len(healed), "fixture")
                self.line(f"{number} passed, but are expected to fail ({reason}): remove the entries", "red")
                for result in healed:
                    self.line(f"  {result.test_id}", "red")
        if known or not run.good:
            self._console.print()

    def last_line(self, run: RunResult) -> None:
        """Print the counts, and before them notes: about cut evidence of failures, the command that explains a fixture,
        missing tools and undeleted files.
        """
        if cut := sum((result.cut for result in run.unexpected_failures), Cut()):
            self.line(cut_note(cut), "dim")
        if run.unexpected_failures and self._detail != SUMMARY:
            self.line("To see what a fixture sends and expects: nexus-mcp conformance explain FIXTURE", "dim")
        if missing := missing_tools_note(run):
            self.line(missing, "yellow")
        for line in format_leftovers(run.left):
            self.line(line, "red")
        self.line(last_line(run), "bold green" if run.good else "bold red")

    def _describe(self) -> None:
        counts = ", ".join(f"{number} {status}" for status, number in self._counts.items() if number)
        running = ", ".join(self._running)
        text = escape(f"{counts}  {running}" if counts else running)
        # Bar and numbers take about 50 columns; a second line would make the bar jump.
        room = max(10, self._console.width - 55)
        self._progress.update(self._task, description=text if len(text) <= room else f"{text[: room - 1]}…")

    def _is_new(self, result: FixtureResult) -> bool:
        """Return whether to print the line of a fixture: with VERBOSE always, else only if its first failed assertion
        differs from those of all earlier fixtures.

        A fixture that passed, but is expected to fail, has the reason of its entry in place of an assertion.
        """
        failed = (key_of(assertion) for assertion in assertions(result) if not assertion.passed)
        first = next(failed, result.expected or result.test_id)
        if self._detail == VERBOSE or first not in self._shown:
            self._shown.add(first)
            return True
        return False

    def _tick(self) -> None:
        while not self._over.wait(self._interval_s):
            self.line(progress_line(self._counts, self._total, time.monotonic() - self._began))

    def _heading(self, cause: Cause, *, apart: bool = True) -> None:
        where = join_first(cause.tools.items(), NAMED, lambda tool: f"{one_line(tool[0], 60)} {tool[1]}")
        group = "" if cause.group == CORE else f"{one_line(cause.group)}: "
        number = count_noun(len(cause.results), "fixture")
        if apart:
            self._console.print()
        self.line(f"{number}: {group}{cause.title}", "bold")
        self._print_indented(Text(f"at {where}", style="dim"))

    def _others(self, cause: Cause) -> None:
        others = [one_line(result.test_id) for result in cause.results[1:]]
        if others:
            self._print_indented(Text(f"also: {join_first(others, NAMED)}", style="dim"))

    def _failure(self, result: FixtureResult) -> None:
        self._console.print(
            Text(f"  ✗ {one_line(result.test_id)}", style="bold red"), Text(one_line(result.source), style="dim")
        )
        self._print_indented(Text(one_line(result.description), style="italic"))
        if rules := format_rules(result.test_id):
            self._print_indented(Text(rules, style="dim"))
        failed = [assertion for assertion in assertions(result) if not assertion.passed]
        with_value = [assertion for assertion in failed[:MOST] if assertion.path]
        if with_value:
            self._print_indented(_table(with_value))
        for assertion in failed[:MOST]:
            if not assertion.path:
                self._print_indented(Text(in_words(assertion, LONGEST * 2)))
        for text in rest_line(len(failed) - MOST):
            self._print_indented(Text(f"… {text}; --report report.html has them all", style="dim"))
        if result.stderr and failed and failed[0].kind == "process":
            lines = [one_line(line, LONGEST) for line in last_lines(result.stderr)]
            self._print_indented(
                Text("\n".join(["the end of its stderr:", *(f"  {line}" for line in lines)]), style="dim")
            )
        exchange = _exchange_of(result, failed[0]) if failed else None
        if exchange is not None:
            answer = one_line(exchange.error, LONGEST) or format_value(exchange.answer, LONGEST)
            self._print_indented(
                Text(f"sent: {one_line(exchange.request, 60)} {format_value(exchange.params, LONGEST)}", style="dim")
            )
            self._print_indented(Text(f"answer{' (an error)' * exchange.is_error}: {answer}", style="dim"))

    def _print_indented(self, what: Text | Table) -> None:
        self._console.print(Padding(what, (0, 0, 0, 4), expand=False))


def progress_line(counts: dict[str, int], total: int, seconds: float) -> str:
    """Return "120 of 740 fixtures, 3 failed, about 2 min left".

    The time is left out before the first fixture has run, and when all are done.
    """
    done = sum(counts.values())
    parts = [f"{done} of {total} fixtures", f"{counts[FAILED]} failed"]
    ran = done - counts[NOT_RUN]
    if ran and done < total:
        left = seconds / ran * (total - done)
        parts.append(f"about {round(left / 60)} min left" if left >= 90 else f"about {round(left)} s left")
    return ", ".join(parts)


def _exchange_of(result: FixtureResult, assertion: Assertion) -> Exchange | None:
    """Return the last request of the step of an assertion, else the last request of the fixture.

    Return None if the fixture has no requests.
    """
    of_step = [exchange for exchange in result.exchanges if exchange.step == assertion.step]
    found = of_step or list(result.exchanges)
    return found[-1] if found else None


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
        found = Text(format_seen(assertion, IN_TABLE), style="red")
        if note(assertion):
            found.append(f"\n{one_line(note(assertion), IN_TABLE)}", style="dim")
        expected = Text(format_value(assertion.expected, IN_TABLE), style="green")
        table.add_row(what, Text(one_line(assertion.path)), expected, found)
    return table
