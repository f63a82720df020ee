"""How much a server may print."""

from __future__ import annotations

_TOTAL = 32 << 20
_LINE = 8 << 20


class Allowance:
    """What the processes of one fixture may print, so many lines of it `unasked`. `complaint` is "" until they went
    beyond it."""

    def __init__(self, unasked: int = 5000) -> None:
        self.complaint = ""
        self._left = _TOTAL
        self._unasked = unasked
        self._unasked_left = unasked

    def sent(self) -> None:
        """A message was sent, so one may come."""
        self._unasked_left += 1

    def printed(self, size: int, lines: int, partial: int) -> None:
        """`size` more bytes came, with `lines` line ends, and `partial` bytes after the last one."""
        self._left -= size
        self._unasked_left -= lines
        if partial > _LINE:
            self.complaint = f"flooded: it printed a line of more than {_LINE >> 20} MiB"
        elif self._left < 0:
            self.complaint = f"flooded: it printed more than {_TOTAL >> 20} MiB"
        elif self._unasked_left < 0:
            self.complaint = f"flooded: it printed more than {self._unasked} lines that nobody asked for"
