"""Lines out of a byte stream, with a bound on the memory one line can take."""

from __future__ import annotations

from nexus_mcp.server.faults import INVALID_REQUEST, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.pipes import Source

MAX_LINE = 4 * 1024 * 1024  # bytes, without the newline


class Lines:
    """The lines of the input, `ended` once no more can be read. For one thread at a time."""

    def __init__(self, source: Source) -> None:
        self.ended = False
        self._source = source
        self._splitter = Splitter()
        self._cut: Iterator[bytes | Fault] = iter(())
        self._put_back: bytes | Fault | None = None

    def at_hand(self) -> bytes | Fault | None:
        """The next line of what was read; None when there is no whole one."""
        line, self._put_back = self._put_back, None
        return next(self._cut, None) if line is None else line

    def put_back(self, line: bytes | Fault) -> None:
        """Let this line be the next one again."""
        self._put_back = line

    def read(self) -> None:
        """Wait for more, once there is no line at hand. Input that ends within a line still gives that line."""
        chunk = self._source.read()
        if chunk:
            self._cut = self._splitter.feed(chunk)
            return
        self.ended = True
        if chunk is not None:
            self._cut = self._splitter.end()


def frames(source: Source) -> Iterator[bytes | Fault]:
    """The lines of the input, each as soon as it is there. A wish to stop gives none any more."""
    lines = Lines(source)
    while not lines.ended:
        lines.read()
        while (line := lines.at_hand()) is not None:
            yield line


class Splitter:
    """Cuts chunks into lines. A line of more than `limit` bytes is skipped and becomes a Fault."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._skipped: _Skipped | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes | Fault]:
        """The lines that this chunk ends, without their newline. Consume all before feeding the next chunk."""
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
        """The last line, when the stream ended without a newline."""
        if self._buffer or self._skipped is not None:
            yield self._take()

    def _add(self, part: bytes) -> None:
        if self._skipped is not None:
            self._skipped.add(part)
            return
        self._buffer += part
        if len(self._buffer) > self._limit:
            self._skipped = _Skipped(bytes(self._buffer))
            self._buffer = bytearray()

    def _take(self) -> bytes | Fault:
        if self._skipped is not None:
            fault = self._skipped.fault(self._limit)
            self._skipped = None
            return fault
        line = bytes(self._buffer)
        self._buffer.clear()
        return line


class _Skipped:
    """What is kept of an over-long line: what its beginning said, how deep its bytes lead, and the last of them."""

    def __init__(self, head: bytes) -> None:
        self._recover: Any = None
        try:
            from nexus_mcp.server import recover  # re costs start-up time, and such lines are rare

            self._head = recover.id_in_head(head)
            self._nesting = recover.Nesting()
        except (ImportError, OSError, MemoryError):
            return  # nothing can be loaded now: the line is skipped all the same, and its id is not told
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
        return Fault(INVALID_REQUEST, f"Invalid Request: a message takes at most {limit} bytes; send less at once", id)
