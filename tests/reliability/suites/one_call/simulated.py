"""Simulate kills and errors in this process by replacing functions of `os` (tests/store/crash_points.py).

The simulation needs no strace, and takes a tenth of the time. It sees the calls of `os` functions, but not the system
calls that C code makes below them.
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
_COPY = "copy_file_range"  # not on macOS
# When a signal interrupts any other call, Python repeats it, so that no caller of `os` sees EINTR.
_INTERRUPTED = ("replace", "unlink", "mkdir", "rmdir", "listdir", "utime")


class Played:
    """A lever that disturbs calls in this process."""

    def __init__(self) -> None:
        # After a simulated death a garbage collection closes the files; freezing older objects keeps it fast.
        gc.freeze()

    def kill_points(self, case: Case) -> list[Point]:
        """Return the system calls before which a call of the tool can die."""
        case.prepare()
        with dying_at(_NEVER) as seen:
            case.perform()
        return _points(seen)

    def kill(self, case: Case, point: Point) -> Ended:
        """Make the call of the tool, and let it die before `point`."""
        case.prepare()
        sent: list[bytes] = []
        ended = killed(point.number, partial(case.perform, sent.append))
        return Ended(b"".join(sent), reached=ended is None)

    def error_points(self, case: Case, code: int) -> list[Point]:
        """Return the system calls that can fail with `code`."""
        case.prepare()
        with failing_at(_NEVER, code, _ALSO) as seen:
            case.perform()
        return [point for point in _points(seen) if code != errno.EINTR or point.name in _INTERRUPTED]

    def fail(self, case: Case, point: Point, code: int, *, lasting: bool) -> Ended:
        """Make the call of the tool; let `point` fail with `code`, and with `lasting` all later calls of that name."""
        case.prepare()
        sent: list[bytes] = []
        with failing_at(point.number, code, _ALSO, lasting=lasting) as seen:
            case.perform(sent.append)
        return Ended(b"".join(sent), reached=len(seen.names) >= point.number)


def with_short_writes(case: Case, most: int) -> Ended:
    """Make the call of the tool while the system accepts at most `most` bytes of a write or a copy."""
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
    """Make the call of the tool while no file can grow beyond `largest` bytes; a write may succeed in part."""
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
