"""Read and write the wire: split input into lines of bounded size, write each message as one line."""

from __future__ import annotations

import errno
import json
import os
import select
import sys
import threading

from nexus_mcp import log
from nexus_mcp.server.faults import INVALID_REQUEST, Fault, internal_error

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from nexus_mcp.server.stopping import Stop

MAX_LINE = 4 * 1024 * 1024  # bytes, without the newline
_AT_ONCE = getattr(select, "PIPE_BUF", 512)  # bytes that a descriptor accepts at once if it polls as writable
_HEAD = 4096  # bytes at the start of a too long line, for Fault.head: they usually name the tool


class Lines:
    """The lines of the input; `ended` once no more can be read. For one thread at a time."""

    def __init__(self, source: Source) -> None:
        self.ended = False
        self._source = source
        self._splitter = Splitter()
        self._cut: Iterator[bytes | Fault] = iter(())
        self._put_back: bytes | Fault | None = None

    def at_hand(self) -> bytes | Fault | None:
        """Return the next complete line already read, or None."""
        line, self._put_back = self._put_back, None
        return next(self._cut, None) if line is None else line

    def put_back(self, line: bytes | Fault) -> None:
        """Put this line back, as the next one to return."""
        self._put_back = line

    def read(self) -> None:
        """Read the next chunk, after the caller has taken all complete lines.

        At the end of the input, an unterminated last line counts as a line.
        """
        chunk = self._source.read()
        if chunk:
            self._cut = self._splitter.feed(chunk)
            return
        self.ended = True
        if chunk is not None:
            self._cut = self._splitter.end()


def iter_lines(source: Source) -> Iterator[bytes | Fault]:
    """Yield the lines of the input as they arrive, until its end or a stop request."""
    lines = Lines(source)
    while not lines.ended:
        lines.read()
        while (line := lines.at_hand()) is not None:
            yield line


class Splitter:
    """Splits chunks into lines. A line of more than `limit` bytes is skipped and becomes a Fault."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._skipped: _SkippedLine | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes | Fault]:
        """Yield the lines completed by this chunk, without newlines. Consume all before feeding the next chunk."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            start = end + 1
            if self._buffer or self._skipped is not None or len(line) > self._limit:
                self._add(line)
                yield self._take()
            else:
                yield line  # nearly always
        if start < len(chunk):
            self._add(chunk[start:])

    def end(self) -> Iterator[bytes | Fault]:
        """Yield the last line, if it has no newline."""
        if self._buffer or self._skipped is not None:
            yield self._take()

    def _add(self, part: bytes) -> None:
        if self._skipped is not None:
            self._skipped.add(part)
            return
        self._buffer += part
        if len(self._buffer) > self._limit:
            self._skipped = _SkippedLine(bytes(self._buffer))
            self._buffer = bytearray()

    def _take(self) -> bytes | Fault:
        if self._skipped is not None:
            fault = self._skipped.fault(self._limit)
            self._skipped = None
            return fault
        line = bytes(self._buffer)
        self._buffer.clear()
        return line


class _SkippedLine:
    """State of a skipped over-long line: its parsed beginning, its nesting and its last bytes, to find its id."""

    def __init__(self, head: bytes) -> None:
        self._recover: Any = None
        self._begin = head[:_HEAD]
        try:
            from nexus_mcp.server import recover  # it imports re, which costs start-up time; such lines are rare

            self._head = recover.id_in_head(head)
            self._nesting = recover.Nesting()
        except (ImportError, OSError, MemoryError):
            return  # imports fail without memory or descriptors: skip the line, its id unknown
        self._recover = recover
        self._tail = b""
        self.add(head)

    def add(self, part: bytes) -> None:
        if self._recover is not None:
            self._nesting.add(part)
            self._tail = (self._tail + part[-self._recover.TAIL :])[-self._recover.TAIL :]

    def fault(self, limit: int) -> Fault:
        id = None
        if self._recover is not None:
            id = self._recover.id_in_tail(self._head, self._tail, whole=self._nesting.is_whole())
        problem = f"Invalid Request: a message takes at most {limit} bytes; send less at once"
        fault = Fault(INVALID_REQUEST, problem, id)
        fault.head = self._begin
        return fault


_CHUNK = 65536
# A writable pipe takes this much without blocking, so no write delays a stop.
_PIECE = getattr(select, "PIPE_BUF", 4096)
_NARROW, _WIDE = 1 << 16, 1 << 20  # bytes: default size of a Linux pipe, and the largest any user may set
_STOP_TIMEOUT_S = 1.0  # seconds without progress after which a client counts as gone, once the server has to stop
_CHECK_INTERVAL_S = 5.0  # a client that closed its end counts as gone after two intervals without a read
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
        """Wait up to `seconds`; return whether `read` would return at once."""
        return self._stop.requested or self._stop.wait_for(self.fd, seconds=seconds) or self._stop.requested

    def read(self) -> bytes | None:
        """Return the next bytes; b"" at the end of the input; None when the server is to stop."""
        while True:
            if not self._wait():
                return None
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                continue  # another process made the pipe non-blocking and read first
            except OSError:
                chunk = b""  # the terminal or socket is gone: nothing will come any more
            self._ended = not chunk
            return chunk

    def is_closed(self) -> bool:
        """Return whether the client has closed its end, even if input is left to read. From any thread.

        A system without poll() reports the close only after all input was read.
        """
        if self._ended or not hasattr(select, "poll"):
            return self._ended
        poll = select.poll()
        poll.register(self.fd, _HUNG_UP)
        return any(event & _HUNG_UP for _, event in poll.poll(0))


class Sink:
    """Standard output: whole lines, one at a time, from any thread. `broken` once the client cannot be reached.

    `is_over` returns whether the client has closed its end.
    """

    def __init__(self, fd: int, stop: Stop, *, waits: bool = True, is_over: Callable[[], bool] = bool) -> None:
        self._fd = fd
        self._stop = stop
        self._is_over = is_over
        self._waits = waits  # whether os.write may block; otherwise it raises BlockingIOError for a full pipe
        self._lock = threading.Lock()
        self._is_wide = False
        self.broken = False

    def send(self, message: dict[str, Any], before_waiting: Callable[[], None] | None = None) -> bool:
        """Write a message as one line; return False if it was not written whole.

        A failed write may have sent a part of the line, so the server then stops. A message that cannot be encoded
        becomes an error response. `before_waiting` is called before each wait for another thread, and before each
        step that may wait for the client.
        """
        line, is_whole = encode(message)
        if not self._lock.acquire(blocking=False):
            if before_waiting is not None:
                before_waiting()
            self._lock.acquire()
        try:
            if not self.broken and not self._try_write(line, before_waiting or _do_nothing):
                self.broken = True
                self._stop.request()
            return is_whole and not self.broken
        finally:
            self._lock.release()

    def try_send(self, message: dict[str, Any]) -> bool:
        """Write a short message if that needs no wait. Return whether it was written."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            line, is_whole = encode(message)
            if self.broken or not is_whole or len(line) > _AT_ONCE or not self._has_room():
                return False
            if not self._try_write(line, _do_nothing):
                self.broken = True
                self._stop.request()
            return not self.broken
        finally:
            self._lock.release()

    def _has_room(self) -> bool:
        """Return whether _AT_ONCE bytes can be written without a wait."""
        return self._stop.wait_for(self._fd, writing=True, seconds=0, ignore_stop=True)

    def _try_write(self, line: bytes, before_waiting: Callable[[], None]) -> bool:
        try:
            return self._write(line, before_waiting)
        except Exception as error:  # noqa: BLE001 - no memory, no module: part of the line may be sent
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
        """Wait until the client has read enough for the next write, and return whether it has.

        Wait without limit while the client's end is open, else while the client makes progress. Once the server is to
        stop, wait _STOP_TIMEOUT_S at most.
        """
        before: object = self  # the first check has no earlier value to compare with
        while not self._stop.requested:
            if self._stop.wait_for(self._fd, writing=True, seconds=_CHECK_INTERVAL_S):
                return True
            if not self._stop.requested and self._is_over():
                unread = _unread_bytes(self._fd)
                if unread == before:
                    log.warning("the input has ended and the client does not read: answers are dropped")
                    return False
                before = unread
        return self._stop.wait_for(self._fd, writing=True, seconds=_STOP_TIMEOUT_S, ignore_stop=True)


def _do_nothing() -> None:
    """Do nothing: the default of `before_waiting`."""


def _unread_bytes(fd: int) -> int | None:
    """Return the bytes written and not read yet; None where the system does not report it.

    A full pipe becomes writable only after the reader has read a page of it. So this number shows earlier
    whether a slow reader makes progress.
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
    """Enlarge a pipe to a megabyte if allowed, so that a long line wakes the client once."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE)
    except (ImportError, AttributeError, OSError):
        pass  # no pipe, another system, or a user with many pipes


def encode(message: dict[str, Any]) -> tuple[bytes, bool]:
    """Return (a JSON-RPC message as the bytes of its line, True).

    If encoding fails (also for lack of memory or descriptors), return (an internal error with the same id, False).
    """
    try:
        return _dump(message) + b"\n", True
    except Exception as error:  # noqa: BLE001 - every request gets a response
        log.error(f"an answer could not be made: {type(error).__name__}: {error}")
        response = internal_error(message.get("id")).response()
        return json.dumps(response, separators=(",", ":")).encode() + b"\n", False


def _dump(message: dict[str, Any]) -> bytes:
    result = message.get("result")
    if isinstance(result, dict) and not isinstance(result.get("structuredContent", {}), dict):
        # Results of tools may have parts that are JSON text already.
        from nexus_mcp.server.response_json import message as response_json

        return response_json(message)
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if text.isascii():
        return text.encode()
    from nexus_mcp.state.rows import encode_line  # rarely used: the texts of the protocol itself are ASCII

    return encode_line(text)
