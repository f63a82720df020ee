"""What a child process does before one of its system calls: die, pause until it is released, or yield.

Installed in a forked process for the rest of its life. Calls are counted from 1, on the thread that carries them out.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from nexus_mcp.store import atomic
from tests.store.crash_points import CALLS

# act(number, name, arguments), run before each call.
Act = Callable[[int, str, tuple[Any, ...]], None]
# Between two of these the files stay as they are, so dying before one of them says what dying in between would.
# (utime dates a temporary file, which a sweep removes whatever its date.)
_READING = ("open", "fsync", "listdir", "read", "pread", "utime")
CHANGING = tuple(name for name in CALLS if name not in _READING)
# What a process does with its lock changes no file, but divides what it does alone from what it does beside others.
LOCKING = "flock"
_OWNERS: dict[str, Any] = {"exchange": atomic, LOCKING: fcntl}
STANDS, WAITS = b"s", b"w"
_read, _write, _flock = os.read, os.write, fcntl.flock
_copy: Callable[[int, int, int, int], int] = getattr(os, "copy_file_range", lambda *_: 0)  # macOS has it not
_yield: Callable[[], None] = getattr(os, "sched_yield", lambda: time.sleep(0))  # macOS has it not


def before_calls(act: Act, names: Sequence[str] = CALLS, during: Callable[[], bool] = lambda: True) -> None:
    """Run `act` before each call with one of these names that the main thread makes while `during()` is true."""
    numbers = itertools.count(1)

    def wrapped(name: str, real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is threading.main_thread() and during():
                act(next(numbers), name, arguments)
            return real(*arguments, **named)

        return call

    for name in names:
        owner = _OWNERS.get(name, os)
        setattr(owner, name, wrapped(name, getattr(owner, name)))


def dying(number: int, *, half: bool = False) -> Act:
    """SIGKILL before call `number`; with `half`, a write or a copy has written half of its bytes by then."""

    def act(now: int, name: str, arguments: tuple[Any, ...]) -> None:
        if now == number:
            if half and name == "write":
                data = bytes(arguments[1])
                _write(arguments[0], data[: len(data) // 2])
            if half and name == "copy_file_range" and arguments[2] > 1:
                _copy(arguments[0], arguments[1], arguments[2] // 2, 0)  # of what is copied the first part first
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def standing(number: int, report: int, go: int) -> Act:
    """Before call `number` write STANDS to the descriptor `report`, and go on when `go` can be read."""

    def act(now: int, name: str, arguments: tuple[Any, ...]) -> None:
        if now == number:
            _write(report, STANDS)
            _read(go, 1)

    return act


def yielding(rng: random.Random, often: float) -> Act:
    """Yield the processor to other processes before that share of the calls."""

    def act(now: int, name: str, arguments: tuple[Any, ...]) -> None:
        if rng.random() < often:
            _yield()

    return act


def reporting_waits(report: int) -> None:
    """Write WAITS to the descriptor `report` whenever a lock was not free."""

    def flock(fd: Any, operation: int) -> None:
        try:
            _flock(fd, operation)
        except BlockingIOError:
            _write(report, WAITS)
            raise

    fcntl.flock = flock
