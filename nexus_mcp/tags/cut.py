"""A text that ends at a tag in the middle of a sentence: what is told about the rest, which belongs to that tag."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 80
_ENDS = (".", "!", "?", ";", "…", "。", "！", "？")
_CLOSING = "\"'”’»)]*_"


def told(message: str, tag: dict[str, Any], until: int) -> str:
    """What is not kept of the sentence behind `tag`, and how it would be; "" where what begins at `until` is new."""
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
