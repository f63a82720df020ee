"""Let a child process die, pause until it is released, or yield before one of its system calls.

The wrappers stay in the forked process until its end. Calls of the main thread are counted, from 1.
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
# These calls change no file, so a death before one of them leaves the same files as a death before the next other call.
# (utime sets the time of a temporary file, which a sweep removes whatever its time.)
_READING = ("open", "fsync", "listdir", "read", "pread", "utime")
CHANGING = tuple(name for name in CALLS if name not in _READING)
# A call for the lock changes no file, but begins or ends the time in which no other process may change files.
LOCKING = "flock"
_OWNERS: dict[str, Any] = {"exchange": atomic, LOCKING: fcntl}
STANDS, WAITS = b"s", b"w"
_read, _write, _flock = os.read, os.write, fcntl.flock
_copy: Callable[[int, int, int, int], int] = getattr(os, "copy_file_range", lambda *_: 0)  # not on macOS
_yield: Callable[[], None] = getattr(os, "sched_yield", lambda: time.sleep(0))  # not on macOS


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
    """Return an act that kills the process before call `number`; with `half`, after half of a write or copy."""

    def act(now: int, name: str, arguments: tuple[Any, ...]) -> None:
        if now == number:
            if half and name == "write":
                data = bytes(arguments[1])
                _write(arguments[0], data[: len(data) // 2])
            if half and name == "copy_file_range" and arguments[2] > 1:
                _copy(arguments[0], arguments[1], arguments[2] // 2, 0)  # the first half of the copied bytes
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def standing(number: int, report: int, go: int) -> Act:
    """Return an act that writes STANDS to `report` before call `number`, and continues when `go` can be read."""

    def act(now: int, name: str, arguments: tuple[Any, ...]) -> None:
        if now == number:
            _write(report, STANDS)
            _read(go, 1)

    return act


def yielding(rng: random.Random, often: float) -> Act:
    """Return an act that yields the processor to other processes before the share `often` of the calls."""

    def act(now: int, name: str, arguments: tuple[Any, ...]) -> None:
        if rng.random() < often:
            _yield()

    return act


def reporting_waits(report: int) -> None:
    """Make flock write WAITS to the descriptor `report` whenever the lock is taken."""

    def flock(fd: Any, operation: int) -> None:
        try:
            _flock(fd, operation)
        except BlockingIOError:
            _write(report, WAITS)
            raise

    fcntl.flock = flock
