"""The pipes of a process: bound its output, write without blocking, and keep the end of its stderr."""

from __future__ import annotations

import asyncio
import os
from typing import IO, TYPE_CHECKING

from nexus_mcp.conformance.document import count_values, string_size
from nexus_mcp.conformance.limits import LINE, PRINTED, PRINTED_LEAST, PRINTED_MOST, VALUES

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16
KEPT = 8 * 1024
"""Bytes that a Tail keeps."""


class Allowance:
    """The bounds on what the processes of one fixture print; `complaint` says which one they exceeded, or is "".

    `unrequested` is the number of lines without a request. `at_once` is how many fixtures run at once: they share the
    memory of one process.
    """

    def __init__(self, unrequested: int = 5000, at_once: int = 1) -> None:
        self.complaint = ""
        self._total = min(PRINTED_MOST, max(PRINTED_LEAST, PRINTED // at_once))
        self._line = min(LINE, self._total)
        self._left = self._total
        self._weight_left = self._total
        self._values_left = VALUES
        self._unrequested = unrequested
        self._unrequested_left = unrequested

    def sent(self) -> None:
        """Count a message to the process, which allows one more line."""
        self._unrequested_left += 1

    def printed(self, size: int, lines: int, partial: int) -> None:
        """Count `size` more bytes with `lines` line ends, and `partial` bytes after the last one."""
        self._left -= size
        self._unrequested_left -= lines
        if partial > self._line:
            self.complaint = f"flooded: it printed a line of more than {self._line >> 20} MiB"
        elif self._left < 0:
            self._complain_of_total()
        elif self._unrequested_left < 0:
            self.complaint = f"flooded: it printed more than {self._unrequested} unrequested lines"

    def parsed(self, line: bytes) -> None:
        """Count a line that is about to be parsed, which may make it many times as large."""
        self._weight_left -= string_size(line)
        self._values_left -= count_values(line, self._values_left)
        if self._weight_left < 0:
            self._complain_of_total()
        elif self._values_left < 0:
            self.complaint = f"flooded: it printed more than {VALUES:,} JSON values"

    def _complain_of_total(self) -> None:
        self.complaint = f"flooded: it printed more than {self._total >> 20} MiB"


class Feed:
    """The writing end of a pipe. It never waits, and buffers what the reader does not take yet.

    `on_broken` is called when the reader closed its end, which closes this one.
    """

    def __init__(self, pipe: IO[bytes], on_broken: Callable[[], None]) -> None:
        self._pipe = pipe
        self._on_broken = on_broken
        self._waiting = bytearray()
        self._ends = False
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)

    def send(self, data: bytes) -> None:
        """Write `data` as soon as the reader takes it; dropped when the pipe is closed."""
        if not self._pipe.closed:
            self._waiting += data
            self._write()

    def finish(self) -> None:
        """Close the pipe as soon as everything is written."""
        self._ends = True
        if not self._pipe.closed:
            self._write()

    def close(self) -> None:
        """Close the pipe and drop the buffer."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()

    def _write(self) -> None:
        fd = self._pipe.fileno()
        try:
            while self._waiting:
                del self._waiting[: os.write(fd, self._waiting[:_CHUNK])]
        except BlockingIOError:
            self._loop.add_writer(fd, self._write)
            return
        except OSError:
            self.close()
            self._on_broken()
            return
        self._loop.remove_writer(fd)
        if self._ends:
            self.close()


class Tail:
    """The last KEPT bytes of a stream of any length, and the number of earlier ones."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self._kept += data
        self._cut += max(0, len(self._kept) - KEPT)
        del self._kept[:-KEPT]

    @property
    def text(self) -> str:
        """Return the end as a text, which begins with the number of bytes before it."""
        text = self._kept.decode("utf-8", "replace")
        return f"… ({self._cut:,} bytes before this)\n{text}" if self._cut else text
