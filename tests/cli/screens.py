"""The command line on a real terminal: a pty of any size, whose output a terminal emulator reads."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte

from tests.cli.support import COMMAND, LIMIT, environment

HEIGHT = 600
"""Lines of a screen on which a whole output has room."""


class Terminal:
    """A process on a terminal of `columns` and `lines`. `screen` is what it shows."""

    def __init__(
        self,
        *arguments: str,
        columns: int,
        lines: int = HEIGHT,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.raw = b""
        self.screen: Any = pyte.Screen(columns, lines)
        self._stream: Any = pyte.ByteStream(self.screen)
        self.master, slave = pty.openpty()
        self._size(slave, columns, lines)
        variables = environment({"TERM": "xterm-256color", **(env or {})})
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
            if name not in (env or {}):
                variables.pop(name, None)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=variables,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - Ctrl-C needs a controlling terminal
        )
        os.close(slave)

    @staticmethod
    def _size(descriptor: int, columns: int, lines: int) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size; the kernel tells the process."""
        self.screen.resize(lines, columns)
        self._size(self.master, columns, lines)

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def read(self) -> bool:
        """Take over the next output; return False when the process has closed the terminal."""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux tells the end of a terminal with EIO
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    def read_until(self, is_there: Callable[[list[str]], bool]) -> list[str]:
        """Read until `is_there` holds for the lines of the screen; return them."""
        end = time.monotonic() + LIMIT
        while not is_there(self.lines()):
            assert time.monotonic() < end, "\n".join(self.lines())
            assert self.read(), "\n".join(self.lines())
        return self.lines()

    def finish(self) -> int:
        """Read to the end; return the exit code."""
        while self.read():
            pass
        return self.process.wait(LIMIT)

    def lines(self) -> list[str]:
        """The lines of the screen, without blanks at their ends and without empty lines at the end."""
        # pyte draws each line anew, character by character, and nearly all of the 600 lines have never been written to.
        screen = self.screen
        height, screen.lines = screen.lines, 1 + max((y for y, row in screen.buffer.items() if row), default=-1)
        try:
            lines = [line.rstrip() for line in screen.display]
        finally:
            screen.lines = height
        while lines and not lines[-1]:
            lines.pop()
        return lines


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(*arguments: str, **options: Any) -> Iterator[Terminal]:
    """A running command on a terminal; it is ended afterwards."""
    made = Terminal(*arguments, **options)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait(LIMIT)
        os.close(made.master)


def shown(*arguments: str, **options: Any) -> tuple[int, list[str], Any]:
    """Run a command on a terminal to its end: (exit code, lines of the screen, the screen, with the bytes in `raw`)."""
    with terminal(*arguments, **options) as made:
        code = made.finish()
        made.screen.raw = made.raw
        return code, made.lines(), made.screen
