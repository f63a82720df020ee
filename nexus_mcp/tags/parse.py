"""Finds the bracket tags of a message: `[plan]`, `[plan:auto]`, `[rule:frontend]`, in any case."""

from __future__ import annotations

from nexus_mcp.tags.ahead import Ahead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

LONGEST = 80
"""Characters between the brackets, at most."""


def parse(text: str, table: Collection[str]) -> list[dict[str, Any]]:
    """The tags in `text`, in order: [{"tag": "plan", "variant": "auto" or "", "start": int, "end": int, "text": str}].

    `table` has the names of the tags, in lower case. `text[start:end]` is the tag with its brackets, `text` what
    follows it up to the next tag or the end, stripped. Tag and variant are in lower case; a variant is any text of one
    line, and whether there is such a one is for others to say. Where a tag is none: tags/inline.py, tags/blocks.py.
    """
    found = starts(text, table)
    return [made(text, start, until) for start, until in zip(found, [*found[1:], len(text)], strict=False)]


def starts(text: str, table: Collection[str]) -> list[int]:
    """Where the tags in `text` begin, in order: all of them, and nothing more, for a message may have millions."""
    candidates = _Candidates(text, table)
    if not candidates.exist():
        return []
    from nexus_mcp.tags import blocks, inline  # most messages have no tag

    pieces, labels = blocks.split(text)
    return [found for start, end in pieces for found in inline.outside(text, start, end, candidates, labels)]


def made(text: str, start: int, until: int) -> dict[str, Any]:
    """The tag that begins at `start`, whose text ends at `until`."""
    close = text.index("]", start)
    name, _, variant = text[start + 1 : close].partition(":")
    after = text[close + 1 : until].strip()
    if after.startswith(":") and not after[1:2].strip():  # [plan]: as people write a label
        after = after[1:].strip()
    return {"tag": name.lower(), "variant": variant.strip().lower(), "start": start, "end": close + 1, "text": after}


class _Candidates:
    """The places of what looks like a tag of the table, wherever it stands.

    To be asked for those of opening brackets, in rising order.
    """

    __slots__ = ("_close", "_table", "_text")

    def __init__(self, text: str, table: Collection[str]) -> None:
        self._text = text
        self._table = table
        self._close = Ahead(text, "]", len(text))

    def __contains__(self, start: object) -> bool:
        return isinstance(start, int) and self._fits(start, self._close.of(start))

    def _fits(self, start: int, close: int) -> bool:
        if not 0 < close - start <= LONGEST + 1 or close == len(self._text):
            return False
        inner = self._text[start + 1 : close]
        name, _, variant = inner.partition(":")
        tag = name.lower()
        # A list's check box is no tag, whatever the table says.
        return "[" not in inner and "\n" not in variant and name.isascii() and tag in self._table and tag != "x"

    def exist(self) -> bool:
        """Whether there is any."""
        text, begin = self._text, 0
        close = text.find("]")
        while close >= 0:
            start = text.rfind("[", max(begin, close - LONGEST - 1), close) if close > begin else -1
            if start >= 0 and self._fits(start, close):
                return True
            begin, close = close + 1, text.find("]", close + 1)
        return False
