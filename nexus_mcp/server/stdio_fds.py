"""Take over standard input and output for a connection and point the standard descriptors elsewhere."""

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
    """Serve one connection with `run`; signals only request a stop. Return the exit code, 0."""
    # An environment variable can lift Python's limit of digits in an integer; then one line of input could keep the
    # reader busy for minutes.
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(min(digits or MAX_DIGITS, MAX_DIGITS))
    try:
        source, sink, waits = claim(stdin_fd, stdout_fd)
    except OSError as error:
        log.warning(f"standard input or output is closed ({error.strerror}): no client can be served")
        return 0
    errors = _reopen(2) if sys.stderr is not None else None
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
            # Text that a stray print left in the buffer of sys.stdout must not turn the exit code into a failure.
            _point(1, os.open(os.devnull, os.O_WRONLY))
    return 0


def claim(stdin_fd: int, stdout_fd: int) -> tuple[int, int, bool]:
    """Return (a private descriptor for the input, one for the output, whether a write to the output may block).

    The caller closes both. If `stdin_fd` is 0, standard input then leads to the null device. If `stdout_fd` is 1,
    standard output then leads to stderr or the null device. So a stray print or a child process can neither write to
    the client nor read its messages. Raise OSError if `stdin_fd` or `stdout_fd` is closed.
    """
    source = _above_standard(stdin_fd)
    try:
        sink = _above_standard(stdout_fd)
    except OSError:
        os.close(source)
        raise
    reopened = _reopen(sink)
    if reopened is not None:
        os.close(sink)
        sink = reopened
    if stdin_fd == 0:
        _point(0, os.open(os.devnull, os.O_RDONLY))
    if stdout_fd == 1:
        _point(1, _stray_output_fd())
    return source, sink, reopened is None


def _stray_output_fd() -> int:
    """Return a descriptor for stray prints: stderr if writing there never blocks, else the null device."""
    if sys.stderr is not None:
        if (reopened := _reopen(2)) is not None:
            return reopened
        if stat.S_ISREG(os.fstat(2).st_mode):
            return os.dup(2)
    return os.open(os.devnull, os.O_WRONLY)


def _reopen(fd: int) -> int | None:
    """Reopen a terminal or pipe for non-blocking writes and return the descriptor; return None if that is impossible.

    Polling is not enough: a terminal with one free byte counts as writable, and a longer write to it blocks. O_NONBLOCK
    on the descriptor itself would affect every process that shares it. Pipes can be reopened on Linux only.
    """
    flags = os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        if os.isatty(fd):
            return _move_above_standard(os.open(os.ttyname(fd), flags))
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            return _move_above_standard(os.open(f"/proc/self/fd/{fd}", flags))
    except (OSError, AttributeError):
        pass
    return None


def _move_above_standard(fd: int) -> int:
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
