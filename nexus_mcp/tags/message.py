"""A message and its tags, found once for all that is done with them."""

from __future__ import annotations

from nexus_mcp.quoting import quoted_name
from nexus_mcp.tags.parse import made, starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

MOST = 20
"""Tags of one message that are looked at. Nobody types more; what has more was pasted."""

LOOKED = 1 << 18
"""Characters at the beginning of a message that are looked through for tags: what has more was pasted as well."""
_BEYOND = 1 << 16
"""Characters behind them in which a code span or a link that begins before may end."""


def tag_name(tag: dict[str, Any]) -> str:
    """The tag as texts name it, without its brackets; a variant is any text of one line, so it may be quoted."""
    return f"{tag['tag']}:{quoted_name(tag['variant'])}" if tag["variant"] else str(tag["tag"])


class Message:
    """`tags`: the first MOST tags of `text`, as tags/parse.py tells of them; `left_out`: how many more there are."""

    __slots__ = ("_next", "left_out", "tags", "text")

    def __init__(self, text: str, table: Collection[str]) -> None:
        found = [start for start in starts(text[: LOOKED + _BEYOND], table) if start < LOOKED]
        self.text = text
        self.left_out = max(0, len(found) - MOST)
        self._next = [*found[1 : MOST + 1], len(text)][: len(found)]
        self.tags: list[dict[str, Any]] = [
            made(text, start, until) for start, until in zip(found[:MOST], self._next, strict=False)
        ]

    def cut(self, tag: dict[str, Any]) -> str:
        """What is told of a text that is kept and ends in the middle of a sentence; "" for nothing (tags/cut.py)."""
        from nexus_mcp.tags import cut

        return cut.told(self.text, tag, self._next[self.tags.index(tag)])
