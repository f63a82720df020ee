"""Looking ahead in a text again and again, at no more cost than looking once."""

from __future__ import annotations


class Ahead:
    """Where the next of a character is, before `end`. To be asked for places in rising order."""

    __slots__ = ("_char", "_end", "_known", "_text")

    def __init__(self, text: str, char: str, end: int) -> None:
        self._text = text
        self._char = char
        self._end = end
        self._known = -1

    def of(self, at: int) -> int:
        """The place of the first one from `at` on; `end` when there is none."""
        if self._known < at:
            found = self._text.find(self._char, at, self._end)
            self._known = self._end if found < 0 else found
        return self._known
