"""A stretch of a file that moves along it, as bytes and as text: so much of a long file is in memory at a time."""

from __future__ import annotations

import codecs

from nexus_mcp.store import ranges


class Window:
    """Reads the file `fd`, of `size` bytes. Raises OSError.

    `data` are its bytes from the offset `begin` on. `at` is where reading has come to, within them.
    """

    __slots__ = ("_fd", "_text", "_text_at", "at", "begin", "data", "size")

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self.size = size
        self.at = self.begin = 0
        self.data = b""
        self._text: str | None = None
        self._text_at = 0  # the character of it that `at` is
        self.more()

    @property
    def is_last(self) -> bool:
        """Whether it reaches to the end of the file."""
        return self.begin + len(self.data) >= self.size

    def more(self) -> None:
        """Let what was passed go, and read on: as much again as there still is, and a chunk at least."""
        rest = self.data[self.at - self.begin :]
        end = self.at + len(rest)
        self.data = rest + ranges.read(self._fd, end, min(self.size, end + max(ranges.CHUNK, len(rest))))
        self.begin = self.at
        self._text = None

    def begin_at(self, offset: int) -> None:
        """Go on at an `offset` in the file, wherever that is."""
        self.at = self.begin = offset
        self.data = b""
        self.more()

    def bytes(self, begin: int, end: int) -> bytes:
        """Those from offset to offset of the file, which it must have."""
        return self.data[begin - self.begin : end - self.begin]

    def text(self) -> tuple[str, int]:
        """(text, the character of it that `at` is); a character that is cut off at the end is left out.

        Raises UnicodeDecodeError.
        """
        if self._text is None:
            self._text, _ = codecs.utf_8_decode(self.data[self.at - self.begin :], "strict", self.is_last)
            self._text_at = 0
        return self._text, self._text_at

    def offset(self, character: int) -> int:
        """Where in the file the `character` of `text()` lies, which is not before `at`."""
        text, start = self.text()
        return self.at + len(text[start:character].encode())

    def pass_text(self, character: int) -> None:
        """Go on to the `character` of `text()`."""
        self.at, self._text_at = self.offset(character), character

    def pass_to(self, offset: int) -> None:
        """Go on to the `offset` in the file, where a character begins."""
        if self._text is not None:
            # The text is kept: where a file is not laid out as ours it is all that is looked at.
            self._text_at += len(self.bytes(self.at, offset).decode())
        self.at = offset
