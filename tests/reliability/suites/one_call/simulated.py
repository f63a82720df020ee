"""Simulate kills and errors in this process by replacing functions of `os` (tests/store/crash_points.py).

Needs no strace and costs a tenth of it. It sees the calls that the store makes on purpose, not what C does below them.
"""

from __future__ import annotations

import errno
import gc
import os
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

from tests.reliability.suites.one_call.points import Case, Ended, Point
from tests.store.crash_points import Calls, dying_at, failing_at, killed

_NEVER = 1_000_000
_ALSO = ("close", "flock")
_COPY = "copy_file_range"  # macOS has it not
# Python goes on by itself when a signal interrupts one of the others, so that no caller of `os` ever sees it.
_INTERRUPTED = ("replace", "unlink", "mkdir", "rmdir", "listdir", "utime")


class Played:
    """Disturbs calls in this process."""

    def __init__(self) -> None:
        # A dead process lets go of its files at once; here a collection must see to it, and have little to look at.
        gc.freeze()

    def kill_points(self, case: Case) -> list[Point]:
        """The calls before which a call of the tool can die."""
        case.prepare()
        with dying_at(_NEVER) as seen:
            case.perform()
        return _points(seen)

    def kill(self, case: Case, point: Point) -> Ended:
        """The call of the tool, dead before `point`."""
        case.prepare()
        sent: list[bytes] = []
        ended = killed(point.number, partial(case.perform, sent.append))
        return Ended(b"".join(sent), reached=ended is None)

    def error_points(self, case: Case, code: int) -> list[Point]:
        """The calls that can fail with `code`."""
        case.prepare()
        with failing_at(_NEVER, code, _ALSO) as seen:
            case.perform()
        return [point for point in _points(seen) if code != errno.EINTR or point.name in _INTERRUPTED]

    def fail(self, case: Case, point: Point, code: int, *, lasting: bool) -> Ended:
        """The call of the tool, `point` failing with `code`; `lasting`: all later calls of that name, too."""
        case.prepare()
        sent: list[bytes] = []
        with failing_at(point.number, code, _ALSO, lasting=lasting) as seen:
            case.perform(sent.append)
        return Ended(b"".join(sent), reached=len(seen.names) >= point.number)


def with_short_writes(case: Case, most: int) -> Ended:
    """The call of the tool, when the system takes no more than `most` bytes of a write or a copy."""
    case.prepare()
    sent: list[bytes] = []
    real, really = os.write, getattr(os, _COPY, None)

    def write(fd: int, data: Any) -> int:
        return real(fd, bytes(data)[:most])

    def copy(source: int, target: int, count: int, **offsets: int) -> int:
        assert really is not None
        copied: int = really(source, target, min(count, most), **offsets)
        return copied

    with patch.object(os, "write", write), patch.object(os, _COPY, copy) if really else nullcontext():
        case.perform(sent.append)
    return Ended(b"".join(sent))


def with_small_files(case: Case, largest: int) -> Ended:
    """The call of the tool, when the system lets no file grow beyond `largest` bytes: it takes part of a write."""
    import resource

    case.prepare()
    sent: list[bytes] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        case.perform(sent.append)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return Ended(b"".join(sent))


def _points(seen: Calls) -> list[Point]:
    found = zip(seen.names, seen.arguments, strict=True)
    return [
        Point(number, name, f"{name}({', '.join(map(_shown, arguments))})")
        for number, (name, arguments) in enumerate(found, 1)
    ]


def _shown(argument: object) -> str:
    return f"{len(argument)} bytes" if isinstance(argument, (bytes, memoryview)) else repr(argument)
