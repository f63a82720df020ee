"""Stop work that runs in a thread: the work itself asks now and then whether it has to.

No thread can be ended from outside. Work that may take long calls `check` in its loops, which raises Halted once its
deadline has passed or somebody asked it to stop. Outside of such work `check` does nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[Halt | None] = ContextVar("halt", default=None)


class Halted(Exception):
    """The work was asked to stop, or took too long."""


class Halt:
    """When a piece of work has to stop: after `seconds`, or when `ask` is called, from any thread."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._asked = threading.Event()

    def ask(self) -> None:
        """Ask the work to stop."""
        self._asked.set()

    def limit(self, seconds: float) -> None:
        """Leave it at most so many seconds from now."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def check(self) -> None:
        """Raise Halted when the work has to stop."""
        if self._asked.is_set() or time.monotonic() > self._deadline:
            raise Halted


def check() -> None:
    """Raise Halted when the work that calls this has to stop."""
    halt = _current.get()
    if halt is not None:
        halt.check()


@contextmanager
def obeying(halt: Halt) -> Iterator[None]:
    """Let `check` ask `halt` within the block, in this thread or task."""
    token = _current.set(halt)
    try:
        yield
    finally:
        _current.reset(token)
