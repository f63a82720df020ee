"""The end of a stream of bytes of any length."""

from __future__ import annotations

KEPT = 8 * 1024


class Tail:
    """Keeps the last KEPT bytes of what is added, and counts the others."""

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
        """The end as a text, which says at its beginning how much came before."""
        text = self._kept.decode("utf-8", "replace")
        return f"… ({self._cut:,} bytes before this)\n{text}" if self._cut else text
