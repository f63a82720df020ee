"""How much a server may print."""

from __future__ import annotations

from nexus_mcp.conformance.limits import LINE, PRINTED, PRINTED_LEAST, PRINTED_MOST, VALUES
from nexus_mcp.conformance.weight import characters, values


class Allowance:
    """What the processes of one fixture may print, so many lines of it `unasked`. `complaint` is "" until they went
    beyond it.

    `at_once` is how many fixtures run at once: they share the memory of one process.
    """

    def __init__(self, unasked: int = 5000, at_once: int = 1) -> None:
        self.complaint = ""
        self._total = min(PRINTED_MOST, max(PRINTED_LEAST, PRINTED // at_once))
        self._line = min(LINE, self._total)
        self._left = self._total
        self._weight_left = self._total
        self._values_left = VALUES
        self._unasked = unasked
        self._unasked_left = unasked

    def sent(self) -> None:
        """A message was sent, so one may come."""
        self._unasked_left += 1

    def printed(self, size: int, lines: int, partial: int) -> None:
        """`size` more bytes came, with `lines` line ends, and `partial` bytes after the last one."""
        self._left -= size
        self._unasked_left -= lines
        if partial > self._line:
            self.complaint = f"flooded: it printed a line of more than {self._line >> 20} MiB"
        elif self._left < 0:
            self._complain_of_total()
        elif self._unasked_left < 0:
            self.complaint = f"flooded: it printed more than {self._unasked} lines that nobody asked for"

    def parsed(self, line: bytes) -> None:
        """A line is about to be parsed, which may make it many times as large."""
        self._weight_left -= characters(line)
        self._values_left -= values(line, self._values_left)
        if self._weight_left < 0:
            self._complain_of_total()
        elif self._values_left < 0:
            self.complaint = f"flooded: it printed more than {VALUES:,} JSON values"

    def _complain_of_total(self) -> None:
        self.complaint = f"flooded: it printed more than {self._total >> 20} MiB"
