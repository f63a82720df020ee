"""The two ends of the wire: bytes in, whole lines out, and nothing else on either."""

from __future__ import annotations

import errno
import json
import os
import select
import sys
import threading

from nexus_mcp import log
from nexus_mcp.server.faults import internal_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.server.stopping import Stop

_CHUNK = 65536
# A pipe that polls as writable takes this much without blocking, so no write outlasts a wish to stop.
_PIECE = getattr(select, "PIPE_BUF", 4096)
_NARROW, _WIDE = 1 << 16, 1 << 20  # bytes: what a pipe of Linux holds, and what anybody may ask for
_PATIENCE = 1.0  # seconds without progress, once the server is to stop, until a client counts as gone
_LOOK_UP = 5.0  # seconds between looks at a client that does not read: after two without progress, its input ended, too
_HUNG_UP = getattr(select, "POLLHUP", 0) | getattr(select, "POLLRDHUP", 0)
_GONE = (errno.EPIPE, errno.ECONNRESET)  # the client went away, which is how connections end


class Source:
    """Standard input: chunks of bytes until its end or until the server is to stop."""

    def __init__(self, fd: int, stop: Stop) -> None:
        self.fd = fd
        self._stop = stop
        self._wait = stop.reading(fd)
        self._ended = False

    def is_ready(self, seconds: float = 0) -> bool:
        """Whether `read` would return at once, or does so after `seconds` at most."""
        return self._stop.requested or self._stop.wait_for(self.fd, seconds=seconds) or self._stop.requested

    def read(self) -> bytes | None:
        """The next bytes; b"" at the end of the input; None when the server is to stop."""
        while True:
            if not self._wait():
                return None
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                continue  # somebody else made the pipe non-blocking, and read it first
            except OSError:
                chunk = b""  # the terminal or socket is gone: nothing will come any more
            self._ended = not chunk
            return chunk

    def is_closed(self) -> bool:
        """Whether the client has closed its end, though there may be something left to read. From any thread."""
        if self._ended or not hasattr(select, "poll"):
            return self._ended
        poll = select.poll()
        poll.register(self.fd, _HUNG_UP)
        return any(event & _HUNG_UP for _, event in poll.poll(0))


class Sink:
    """Standard output: whole lines, one at a time, from any thread. `broken` once the client cannot be reached.

    `is_over` says whether the client will ask for nothing more.
    """

    def __init__(self, fd: int, stop: Stop, *, waits: bool = True, is_over: Callable[[], bool] = bool) -> None:
        self._fd = fd
        self._stop = stop
        self._is_over = is_over
        self._waits = waits  # whether a write may wait for the client to read
        self._lock = threading.Lock()
        self._is_wide = False
        self.broken = False

    def send(self, message: dict[str, Any], before_waiting: Callable[[], None] | None = None) -> bool:
        """Write a message as one line; False when it did not go out.

        Where part of it may be out the server is asked to stop. What cannot be encoded is answered by an error.

        `before_waiting` is called, once or more often, before it waits for the client or for another thread.
        """
        line, is_whole = encode(message)
        if not self._lock.acquire(blocking=False):
            if before_waiting is not None:
                before_waiting()
            self._lock.acquire()
        try:
            if not self.broken and not self._written(line, before_waiting or _nothing):
                self.broken = True
                self._stop.request()
            return is_whole and not self.broken
        finally:
            self._lock.release()

    def _written(self, line: bytes, before_waiting: Callable[[], None]) -> bool:
        try:
            return self._write(line, before_waiting)
        except Exception as error:  # noqa: BLE001 - no memory, no module: part of the line may be out
            log.error(f"an answer could not be written to standard output: {type(error).__name__}: {error}")
            return False

    def _write(self, line: bytes, before_waiting: Callable[[], None]) -> bool:
        if len(line) > _NARROW and not self._is_wide:
            self._is_wide = True
            _widen(self._fd)
        rest = memoryview(line)
        while rest:
            if self._waits:
                before_waiting()
                if not self._is_writable():
                    return False
            try:
                rest = rest[os.write(self._fd, rest[:_PIECE] if self._waits else rest) :]
            except BlockingIOError:
                before_waiting()
                if not self._waits and not self._is_writable():
                    return False
            except OSError as error:
                if error.errno not in _GONE:
                    log.warning(f"an answer could not be written to standard output: {error.strerror}")
                return False
        return True

    def _is_writable(self) -> bool:
        """Wait for the client to read: as long as it takes while it may write, else as long as it goes on reading.

        With bounded patience once the server is to stop.
        """
        before: object = self  # nothing is known yet
        while not self._stop.requested:
            if self._stop.wait_for(self._fd, writing=True, seconds=_LOOK_UP):
                return True
            if not self._stop.requested and self._is_over():
                untaken = _untaken(self._fd)
                if untaken == before:
                    log.warning("the input has ended and nobody takes the answers: the rest of them is dropped")
                    return False
                before = untaken
        return self._stop.wait_for(self._fd, writing=True, seconds=_PATIENCE, even_so=True)


def _nothing() -> None:
    """What there is to do before waiting, if nothing else is said."""


def _untaken(fd: int) -> int | None:
    """How much was written and not read yet; None where the system does not say.

    A pipe can be written again only when a page of it was read, which takes a slow reader long.
    """
    try:
        import fcntl
        import stat
        import termios

        wanted = termios.FIONREAD if stat.S_ISFIFO(os.fstat(fd).st_mode) else termios.TIOCOUTQ
        return int.from_bytes(fcntl.ioctl(fd, wanted, bytes(4)), sys.byteorder)
    except (ImportError, AttributeError, OSError):
        return None


def _widen(fd: int) -> None:
    """Let a pipe hold a megabyte, where the system allows it: for a long line the client is woken once, not often."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE)
    except (ImportError, AttributeError, OSError):
        pass  # no pipe, another system, or a user with many pipes


def encode(message: dict[str, Any]) -> tuple[bytes, bool]:
    """(A JSON-RPC message as the bytes of its line, True).

    What cannot be encoded, or not now (no memory, no descriptor to load a module with), becomes an internal error of
    the same id, and False.
    """
    try:
        return _dump(message) + b"\n", True
    except Exception as error:  # noqa: BLE001 - whoever asked is to get an answer
        log.error(f"an answer could not be made: {type(error).__name__}: {error}")
        told = internal_error(message.get("id")).response()
        return json.dumps(told, separators=(",", ":")).encode() + b"\n", False


def _dump(message: dict[str, Any]) -> bytes:
    result = message.get("result")
    if isinstance(result, dict) and not isinstance(result.get("structuredContent", {}), dict):
        from nexus_mcp.server.rendered import message as rendered  # for the answers of tools

        return rendered(message)
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if text.isascii():
        return text.encode()
    from nexus_mcp.state.rows import in_line  # hardly ever: what the protocol itself says is plain

    return in_line(text)
