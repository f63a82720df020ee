"""`nexus-mcp status --watch`: the status on the whole terminal, drawn anew when a file or the terminal size changes.

The files are looked at four times a second (docs/decisions/0064). Each frame is one write, over the lines of the last
frame: the screen is not cleared first, so it does not flicker. A frame that equals the last one is not written.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import sys
import termios
import time
import tty
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rich.text import Text

from nexus_mcp.cli import exits
from nexus_mcp.cli.blocks import DIM, STYLES
from nexus_mcp.cli.rich_terminal import Terminal
from nexus_mcp.cli.status_lines import status_blocks
from nexus_mcp.cli.terminal import is_terminal
from nexus_mcp.errors import UsageError
from nexus_mcp.log import printable
from nexus_mcp.store.poller import EACH, PAUSE, mark
from nexus_mcp.store.run_files import RUNS, STATUS
from nexus_mcp.views.status import status
from nexus_mcp.workspace import is_harness_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

ENTER = "\x1b[?1049h\x1b[?25l"
"""Show the alternate screen, and hide the cursor."""
LEAVE = "\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h\x1b[H", "\x1b[J\x1b[?2026l"
"""The begin and end of a frame. A terminal that knows these sequences shows all output between them at once."""
_END_OF_LINE, _NEXT_LINE = "\x1b[K", "\r\n"
_KEY = re.compile(rb"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_QUIT = frozenset((b"q", b"Q"))
_STEPS = {
    **dict.fromkeys((b"k", b"\x1b[A", b"\x1bOA"), -1),
    **dict.fromkeys((b"j", b"\x1b[B", b"\x1bOB"), 1),
    **dict.fromkeys((b"b", b"\x1b[5~"), -10),
    **dict.fromkeys((b" ", b"\x1b[6~"), 10),
}
"""Key -> lines to scroll."""
_AGES_S = 10.0
"""Seconds after which the times (`5 min ago`) are computed anew."""
_FOLDER, _FILES = ".nexus/state", (".nexus/history.json", f".nexus/state/{RUNS}/{STATUS}{EACH}")


def watch(store: Store, workspace: Workspace) -> int:
    """Show the status until the user ends it; return the exit code. Raise UsageError without a terminal."""
    is_usable = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty() and is_terminal(os.environ)
    if not is_usable or os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("--watch needs a terminal.", next_step="Leave it out, or use --json in a script.")
    return _Watch(store, workspace).run()


class _Watch:
    """The state of --watch: the lines of the status, and the first line shown."""

    def __init__(self, store: Store, workspace: Workspace) -> None:
        self._store = store
        self._workspace = workspace
        self._terminal = Terminal(sys.stdout)
        self._view = status(store, workspace)
        self._marks: object = None
        self._lines: list[Text] = []
        self._shown = ""
        self._first = 0
        self._updated = time.time()
        self._computed = 0.0

    def run(self) -> int:
        """Show the status until the user ends it."""
        with self._signals() as wakeup, self._whole_terminal():
            while True:
                self._look()
                self._draw()
                ready, _, _ = select.select([0, wakeup], [], [], PAUSE)
                if wakeup in ready:
                    os.read(wakeup, 1024)
                    self._computed = 0.0
                if 0 in ready and not self._obey(os.read(0, 1024)):
                    return exits.OK

    def _obey(self, typed: bytes) -> bool:
        """Carry out the keys of one read; return False to end."""
        keys = _KEY.findall(typed)
        self._first += sum(_STEPS.get(key, 0) for key in keys)
        return bool(typed) and _QUIT.isdisjoint(keys)

    def _look(self) -> None:
        """Read the status again if a file has changed.

        Compute the lines again after that, after a signal such as SIGWINCH, and every _AGES_S seconds.
        """
        base, now = self._workspace.state_root, time.time()
        marks = _marks(base)
        if marks != self._marks:
            if self._marks is not None:
                self._view, self._updated = status(self._store, self._workspace), now
            self._marks, self._computed = marks, 0.0
        if not 0 <= now - self._computed < _AGES_S:
            self._terminal.measure()
            self._lines = list(self._terminal.lines(status_blocks(self._view, now, self._terminal.width)))
            self._computed = now

    def _draw(self) -> None:
        rows = max(shutil.get_terminal_size().lines - 1, 1)
        self._first = max(0, min(self._first, len(self._lines) - rows))
        part = self._lines[self._first : self._first + rows]
        lines = [*part, *[Text()] * (rows - len(part)), self._footer(len(self._lines) - self._first - rows)]
        frame = _BEGIN + _NEXT_LINE.join(map(self._ansi, lines)) + _END
        if frame != self._shown:
            sys.stdout.write(frame)
            sys.stdout.flush()
            self._shown = frame

    def _footer(self, below: int) -> Text:
        """Return the last line: how to end, how many lines are below, the time of the status, and the project."""
        at = time.strftime("%H:%M:%S", time.localtime(self._updated))
        more = f"{below} more lines, j scrolls · " if below > 0 else ""
        text = Text(printable(f"q ends · {more}as of {at} · {self._workspace.root}"), style=STYLES[DIM])
        text.truncate(self._terminal.width, overflow="ellipsis")
        return text

    def _ansi(self, line: Text) -> str:
        console = self._terminal.console
        with console.capture() as capture:
            console.print(line, soft_wrap=True, end="")
        # After a line as wide as the terminal the cursor is on its last character, which the sequence would erase.
        return capture.get() + (_END_OF_LINE if line.cell_len < self._terminal.width else "")

    @contextmanager
    def _whole_terminal(self) -> Iterator[None]:
        """Take the terminal over, and give it back as it was, also while the process is stopped (Ctrl-Z)."""
        before = termios.tcgetattr(0)

        def take() -> None:
            tty.setcbreak(0)
            sys.stdout.write(ENTER)
            sys.stdout.flush()
            self._shown = ""

        def give_back() -> None:
            with suppress(OSError):
                sys.stdout.write(LEAVE)
                sys.stdout.flush()
            with suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(0, termios.TCSADRAIN, before)

        def pause(number: int, _: FrameType | None) -> None:
            give_back()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            signal.signal(number, pause)
            take()

        old = signal.signal(signal.SIGTSTP, pause)
        try:
            take()
            yield
        finally:
            signal.signal(signal.SIGTSTP, old)
            give_back()

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """Yield a descriptor that becomes readable when a signal arrives; end the process at SIGTERM and SIGHUP."""

        def end(number: int, _: FrameType | None) -> None:
            sys.exit(exits.HUNG_UP if number == signal.SIGHUP else exits.TERMINATED)

        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        handlers = {signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGWINCH: lambda *_: None}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            yield reader
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reader)
            os.close(writer)


def _marks(base: str) -> Sequence[object]:
    """Return a value that differs after a change of the files that the status shows."""
    folders = [f"{_FOLDER}/"]
    with suppress(OSError), os.scandir(os.path.join(base, _FOLDER)) as entries:
        folders += [f"{_FOLDER}/{entry.name}/" for entry in entries if is_harness_id(entry.name)]
    return [mark(base, path) for path in (*_FILES, *sorted(folders))]
