"""Parse the bracket tags of a message: `[plan]`, `[plan:auto]`, `[rule:frontend]`, in any case."""

from __future__ import annotations

import re

from nexus_mcp.quoting import quoted_name
from nexus_mcp.tags.markdown import find_plain_brackets

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

LONGEST = 80
"""Maximum characters between the brackets."""
MOST = 20
"""The maximum number of tags of one message that are used. A message with more tags is probably pasted text."""
MAX_CHARACTERS = 1 << 18
"""Characters at the beginning of a message in which tags are searched."""
_BEYOND = 1 << 16
"""The number of further characters that are parsed, because a code span or link that begins before them may end in
them.
"""
_CANDIDATE = re.compile(rf"(?<![A-Za-z0-9_])\[([^\[\]]{{1,{LONGEST}}})\]")
"""A bracket directly after a name is an index, as in `row[d]`."""
_LONGEST = 80
_ENDS = (".", "!", "?", ";", "…", "。", "！", "？")
_CLOSING = "\"'”’»)]*_"


def parse(text: str, table: Collection[str]) -> list[dict[str, Any]]:
    """Return the tags in the first MAX_CHARACTERS, in order: [{"tag": "plan", "variant": "auto" or "", "start": int,
    "end": int, "text": str}].

    `table` has the tag names in lower case. `text[start:end]` is the tag with its brackets; the field `text` is the
    text up to the next tag or the end, stripped, and without the colon of `[plan]: text`. Tag and variant are in lower
    case. A variant is any text of one line; the caller checks whether the vocabulary has it. Markdown code and links
    hold no tags (tags/markdown.py).
    """
    found = _find_starts(text, table)
    return [_read_tag(text, start, until) for start, until in zip(found, [*found[1:], len(text)], strict=False)]


def tag_name(tag: dict[str, Any]) -> str:
    """Return the tag for use in a message, without brackets; its variant is quoted unless it is a plain name."""
    return f"{tag['tag']}:{quoted_name(tag['variant'])}" if tag["variant"] else str(tag["tag"])


class Message:
    """A message, parsed once: `tags` has the first MOST tags of `text` as in `parse`, `left_out` counts the others."""

    __slots__ = ("_next", "left_out", "tags", "text")

    def __init__(self, text: str, table: Collection[str]) -> None:
        found = _find_starts(text, table)
        self.text = text
        self.left_out = max(0, len(found) - MOST)
        self._next = [*found[1 : MOST + 1], len(text)][: len(found)]
        self.tags: list[dict[str, Any]] = [
            _read_tag(text, start, until) for start, until in zip(found[:MOST], self._next, strict=False)
        ]

    def truncation_warning(self, tag: dict[str, Any]) -> str:
        """Return a warning if the text of `tag` ends at the next tag in the middle of a sentence, else ""."""
        until = self._next[self.tags.index(tag)]
        if until == len(self.text):
            return ""
        text = self.text[tag["end"] : until].rstrip(" \t")
        if not text.strip() or text.endswith(("\n", "\r")) or text.rstrip(_CLOSING).endswith(_ENDS):
            return ""
        from nexus_mcp.quoting import quote

        rest = self.text[until:].partition("\n")[0].rstrip()
        return (
            f"The text ends before the next tag, so it lacks {quote(rest, _LONGEST)}. To keep that too, write \\ "
            "before the tag's bracket and send the whole text again."
        )


def find_other_names(text: str, table: Collection[str], most: int, longest: int) -> list[str]:
    """Return the first `most` words between brackets that are no tags, in lower case, each once: words of ASCII
    letters, of at most `longest` characters, in the first MAX_CHARACTERS.
    """
    names: dict[str, None] = {}
    for found in _CANDIDATE.finditer(text[:MAX_CHARACTERS]):
        name = found[1].partition(":")[0].lower()
        if name.isascii() and name.isalpha() and len(name) <= longest and name not in table:
            names[name] = None
            if len(names) == most:
                break
    return [*names]


def _find_starts(text: str, table: Collection[str]) -> list[int]:
    """Return the position of each tag, in order. It makes no dicts, because a message may have many thousand tags."""
    text = text[: MAX_CHARACTERS + _BEYOND]
    looks = {found.start() for found in _CANDIDATE.finditer(text) if _is_tag(found[1], table)}
    last = max((start for start in looks if start < MAX_CHARACTERS), default=-1)
    return [] if last < 0 else [start for start in find_plain_brackets(text, last) if start <= last and start in looks]


def _is_tag(inner: str, table: Collection[str]) -> bool:
    """Return whether a text between brackets is a tag of the table."""
    name, _, variant = inner.partition(":")
    # The check box `[x]` of a task list is no tag, even if the table has an "x".
    return name.isascii() and name.lower() in table and "\n" not in variant and name not in ("x", "X")


def _read_tag(text: str, start: int, until: int) -> dict[str, Any]:
    """Return the tag at `start`; its text ends at `until`."""
    close = text.index("]", start)
    name, _, variant = text[start + 1 : close].partition(":")
    after = text[close + 1 : until].strip()
    if after.startswith(":") and not after[1:2].strip():  # users write `[plan]:` like a label
        after = after[1:].strip()
    return {"tag": name.lower(), "variant": variant.strip().lower(), "start": start, "end": close + 1, "text": after}
