"""The two ends of a connection while it is served: descriptors of our own, and the standard ones out of harm's way."""

from __future__ import annotations

import os
import stat
import sys

from nexus_mcp import log
from nexus_mcp.server.pipes import Sink, Source
from nexus_mcp.server.stopping import Stop
from nexus_mcp.store.codec import MAX_DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def serve_between(run: Callable[[Source, Sink, Stop], None], stdin_fd: int, stdout_fd: int) -> int:
    """Let `run` serve one connection, while signals only ask it to stop. Returns the exit code, 0."""
    # The environment can lift Python's limit, and then one line of input could keep the reader busy for minutes.
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(min(digits or MAX_DIGITS, MAX_DIGITS))
    try:
        source, sink, waits = claim(stdin_fd, stdout_fd)
    except OSError as error:
        log.warning(f"standard input or output is closed ({error.strerror}): there is nobody to serve")
        return 0
    errors = _reopened(2) if sys.stderr is not None else None
    before = log.divert(errors) if errors is not None else None
    stop = Stop()
    try:
        with stop:
            reads = Source(source, stop)
            run(reads, Sink(sink, stop, waits=waits, is_over=reads.is_closed), stop)
    finally:
        if errors is not None and before is not None:
            log.divert(before)
            os.close(errors)
        os.close(source)
        os.close(sink)
        if stdout_fd == 1:
            # What a stray print left in its buffer must not turn the exit code into a failure.
            _point(1, os.open(os.devnull, os.O_WRONLY))
    return 0


def claim(stdin_fd: int, stdout_fd: int) -> tuple[int, int, bool]:
    """Private duplicates of both descriptors, to be closed by the caller, and whether writing to the second may wait.

    The standard ones are then pointed elsewhere, input at the null device and output at stderr: a stray print, or
    a child process, can neither garble the wire nor eat from it. Raises OSError when one of them is closed.
    """
    source = _above_standard(stdin_fd)
    try:
        sink = _above_standard(stdout_fd)
    except OSError:
        os.close(source)
        raise
    reopened = _reopened(sink)
    if reopened is not None:
        os.close(sink)
        sink = reopened
    if stdin_fd == 0:
        _point(0, os.open(os.devnull, os.O_RDONLY))
    if stdout_fd == 1:
        _point(1, _for_strays())
    return source, sink, reopened is None


def _for_strays() -> int:
    """Where prints go: stderr, if that can be written without waiting for a reader, else nowhere."""
    if sys.stderr is not None:
        if (reopened := _reopened(2)) is not None:
            return reopened
        if stat.S_ISREG(os.fstat(2).st_mode):
            return os.dup(2)
    return os.open(os.devnull, os.O_WRONLY)


def _reopened(fd: int) -> int | None:
    """Another opening of a terminal or pipe, whose writes do not wait; None where there is no such thing.

    Polling is not enough for a terminal, which is writable from one free byte on, and O_NONBLOCK on the descriptor
    that we were given would hold for every process that shares it. Pipes can be reopened on Linux only.
    """
    flags = os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        if os.isatty(fd):
            return _raised(os.open(os.ttyname(fd), flags))
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            return _raised(os.open(f"/proc/self/fd/{fd}", flags))
    except (OSError, AttributeError):
        pass
    return None


def _raised(fd: int) -> int:
    try:
        return _above_standard(fd)
    finally:
        os.close(fd)


def _above_standard(fd: int) -> int:
    duplicate = os.dup(fd)
    if duplicate > 2:
        return duplicate
    try:
        return _above_standard(fd)
    finally:
        os.close(duplicate)


def _point(fd: int, target: int) -> None:
    os.dup2(target, fd)
    if target != fd:
        os.close(target)
