"""A message with its tags, parsed once for all uses, within limits on its size."""

from __future__ import annotations

from nexus_mcp.quoting import quoted_name
from nexus_mcp.tags.parse import find_starts, read_tag

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

MOST = 20
"""Maximum tags of one message that are used. A message with more was pasted."""

MAX_CHARACTERS = 1 << 18
"""Characters at the beginning of a message in which tags are searched."""
_BEYOND = 1 << 16
"""Characters behind these in which an earlier code span or link may end."""
_LONGEST = 80
_ENDS = (".", "!", "?", ";", "…", "。", "！", "？")
_CLOSING = "\"'”’»)]*_"


def tag_name(tag: dict[str, Any]) -> str:
    """Return the tag for a text, without brackets; its variant is quoted unless it is a plain name."""
    return f"{tag['tag']}:{quoted_name(tag['variant'])}" if tag["variant"] else str(tag["tag"])


class Message:
    """A message: `tags` has the first MOST tags of `text` (see parse.read_tag), `left_out` counts the others."""

    __slots__ = ("_next", "left_out", "tags", "text")

    def __init__(self, text: str, table: Collection[str]) -> None:
        found = [start for start in find_starts(text[: MAX_CHARACTERS + _BEYOND], table) if start < MAX_CHARACTERS]
        self.text = text
        self.left_out = max(0, len(found) - MOST)
        self._next = [*found[1 : MOST + 1], len(text)][: len(found)]
        self.tags: list[dict[str, Any]] = [
            read_tag(text, start, until) for start, until in zip(found[:MOST], self._next, strict=False)
        ]

    def truncation_warning(self, tag: dict[str, Any]) -> str:
        """Return a warning if the text of `tag` ends at the next tag in the middle of a sentence, else ""."""
        return _truncation_warning(self.text, tag, self._next[self.tags.index(tag)])


def _truncation_warning(message: str, tag: dict[str, Any], until: int) -> str:
    if until == len(message):
        return ""
    before = message[tag["end"] : until]
    text = before.rstrip(" \t")
    if not text.strip() or text.endswith(("\n", "\r")) or text.rstrip(_CLOSING).endswith(_ENDS):
        return ""
    from nexus_mcp.quoting import quoted

    rest = message[until:].partition("\n")[0].rstrip()
    return (
        f"The text ends before the next tag; not in it is {quoted(rest, _LONGEST)}. To keep that too, write \\ before "
        "the tag's bracket and send the whole text again."
    )
