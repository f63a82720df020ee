"""Show a run while it works: a line for each event above the level debug, and on a terminal a table of the attempts."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nexus_mcp.quoting import inert
from nexus_mcp.run import log_entries
from nexus_mcp.run.projection import ENDED
from nexus_mcp.run.report import cost_text
from nexus_mcp.run.status import milliseconds
from nexus_mcp.state import times
from nexus_mcp.state.tasks import COMPLETED

if TYPE_CHECKING:
    from types import TracebackType

    from nexus_mcp.run.events import AnyEvent
    from nexus_mcp.run.precheck import Item
    from nexus_mcp.run.projection import RunRecord
    from nexus_mcp.run.setup import Run

_STYLES = {"warn": "yellow", "error": "bold red"}
_GOOD = frozenset(("merged", "task_done"))
_TYPE = " (type the answer here)"


class _Console(Console):
    """A console that raises when the reader of its output goes away; rich's own would end the process."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


class Screen:
    """The output of a run: lines, and with `is_live` a table below them that is refreshed."""

    def __init__(self, stream: TextIO, *, is_live: bool) -> None:
        self._console = _Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=not is_live)
        self._run: Run | None = None
        self._is_closed = False
        self._live = Live(get_renderable=self._view, console=self._console, transient=True) if is_live else None

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def follow(self, run: Run) -> None:
        """Show the table of the run from now on, if the screen is live."""
        self._run = run
        if self._live is not None:
            try:
                self._live.start()
            except OSError:
                self._close()

    def stop(self) -> None:
        """Remove the table."""
        if self._live is not None and self._live.is_started:
            try:
                self._live.stop()
            except OSError:
                self._close()

    def event(self, event: AnyEvent) -> None:
        """Show an event, unless its level is debug."""
        level = log_entries.level(event)
        if level != "debug":
            style = "green" if event.type in _GOOD else _STYLES.get(level, "")
            self.line(log_entries.line(event), style)

    def line(self, text: str = "", style: str = "") -> None:
        """Show a line. If it cannot be written, for example to a closed pipe or a full disk, the run continues."""
        if self._is_closed:
            return
        try:
            self._console.print(Text(text, style=style))
        except OSError:
            self._close()

    def _close(self) -> None:
        """Show nothing more. Later output goes to /dev/null, so that the flush at the exit of Python does not fail."""
        self._is_closed = True
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(null, self._console.file.fileno())
            os.close(null)

    def items(self, items: Sequence[Item]) -> None:
        """Show the items of the precheck that did not pass."""
        for item in items:
            if not item.passed:
                style = "bold red" if item.tier == "blocker" else "yellow"
                self.line(f"{item.tier}: {item.name}: {inert(item.message)}", style)

    def _view(self) -> Group:
        """Return lines with the progress, the running attempts and the open questions, no wider than the terminal."""
        if self._run is None:
            return Group()
        state, now = self._run.state, times.stamp(time.time())
        table = Table.grid(padding=(0, 2))
        for record in state.tasks.values():
            last = record.last
            if record.state in ("running", "merging") and last is not None:
                took = milliseconds(last.planned_at, now) // 1000
                worker = last.agent or last.harness
                cells = (f"task {record.id}", last.phase, worker, last.attempt.tier, f"attempt {last.attempt.number}")
                table.add_row(*(Text(inert(cell)) for cell in cells), Text(f"{took // 60}:{took % 60:02}"))
        questions = [
            Text(f"question {one.id}{_of_task(one.task)}: {inert(one.summary)[:200]}{_TYPE * (not at)}", style="yellow")
            for at, one in enumerate(state.open_questions())
        ]
        rows = [table] if table.row_count else []
        return Group(Text(_progress(self._run), style="bold"), *rows, *questions)


def _of_task(id_: int | None) -> str:
    return "" if id_ is None else f" of task {id_}"


def _progress(run: Run) -> str:
    document = run.tasks()
    tasks = [one for one in document["tasks"] if run.options.tasks is None or one["id"] in run.options.tasks]
    done = sum(one["status"] == COMPLETED for one in tasks)
    waiting = [str(one["id"]) for one in tasks if _waits(one, run.state)]
    waits = f", waiting for others: {', '.join(waiting[:8])}" if waiting else ""
    going_on = [one for one in tasks if one["status"] != COMPLETED and run.state.task(one["id"]).state not in ENDED]
    left = time_left(*_pace(run.state), len(going_on))
    return f"{done} of {len(tasks)} tasks completed, {cost_text(run.state)}{left}{waits}"


def _pace(state: RunRecord) -> tuple[int, int]:
    """Return (number of completed tasks whose last attempt the current executor began, milliseconds since it began)."""
    mine = [one for one in state.tasks.values() if one.last is not None and one.last.planned_at >= state.executor_since]
    done = sum(one.state == "completed" for one in mine)
    return done, milliseconds(state.executor_since, times.stamp(time.time()))


def time_left(done: int, took_ms: int, left: int) -> str:
    """Return a text with the estimated time of `left` tasks at the pace of the `done` ones; "" if either is 0."""
    if not done or not left:
        return ""
    minutes = took_ms / done * left / 60_000
    return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than 1 min left"


def _waits(task: dict[str, object], state: RunRecord) -> bool:
    id_ = task["id"]
    return task["status"] != COMPLETED and isinstance(id_, int) and state.task(id_).state == "waiting"
