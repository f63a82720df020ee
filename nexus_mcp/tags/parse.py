"""Parse the bracket tags of a message: `[plan]`, `[plan:auto]`, `[rule:frontend]`, in any case."""

from __future__ import annotations

from nexus_mcp.tags.markdown import Lookahead, find_plain_brackets, split_blocks

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

LONGEST = 80
"""Maximum characters between the brackets."""


def parse(text: str, table: Collection[str]) -> list[dict[str, Any]]:
    """Return the tags in order: [{"tag": "plan", "variant": "auto" or "", "start": int, "end": int, "text": str}].

    `table` has the tag names in lower case. `text[start:end]` is the tag with its brackets; the field `text` is what
    follows up to the next tag or the end, stripped. Tag and variant are in lower case. A variant is any text of one
    line; the caller checks whether the vocabulary has it. Markdown code and links hold no tags (tags/markdown.py).
    """
    found = find_starts(text, table)
    return [read_tag(text, start, until) for start, until in zip(found, [*found[1:], len(text)], strict=False)]


def find_starts(text: str, table: Collection[str]) -> list[int]:
    """Return the start of each tag, in order. Only positions, because a message may have millions of tags."""
    candidates = _Candidates(text, table)
    if not candidates.exist():
        return []
    blocks, labels = split_blocks(text)
    return [at for start, end in blocks for at in find_plain_brackets(text, start, end, candidates, labels)]


def read_tag(text: str, start: int, until: int) -> dict[str, Any]:
    """Return the tag at `start`; its text ends at `until`."""
    close = text.index("]", start)
    name, _, variant = text[start + 1 : close].partition(":")
    after = text[close + 1 : until].strip()
    if after.startswith(":") and not after[1:2].strip():  # [plan]: as people write a label
        after = after[1:].strip()
    return {"tag": name.lower(), "variant": variant.strip().lower(), "start": start, "end": close + 1, "text": after}


class _Candidates:
    """The positions of everything that looks like a tag of the table, in Markdown markup or not.

    Membership tests must use positions of opening brackets that do not decrease.
    """

    __slots__ = ("_close", "_table", "_text")

    def __init__(self, text: str, table: Collection[str]) -> None:
        self._text = text
        self._table = table
        self._close = Lookahead(text, "]", len(text))

    def __contains__(self, start: object) -> bool:
        return isinstance(start, int) and self._fits(start, self._close.next_from(start))

    def _fits(self, start: int, close: int) -> bool:
        if not 0 < close - start <= LONGEST + 1 or close == len(self._text):
            return False
        inner = self._text[start + 1 : close]
        name, _, variant = inner.partition(":")
        tag = name.lower()
        # The check box of a task list is no tag, even if the table has an "x".
        return "[" not in inner and "\n" not in variant and name.isascii() and tag in self._table and tag != "x"

    def exist(self) -> bool:
        """Return whether the text has any candidate."""
        text, begin = self._text, 0
        close = text.find("]")
        while close >= 0:
            start = text.rfind("[", max(begin, close - LONGEST - 1), close) if close > begin else -1
            if start >= 0 and self._fits(start, close):
                return True
            begin, close = close + 1, text.find("]", close + 1)
        return False
