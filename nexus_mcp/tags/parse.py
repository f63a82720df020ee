"""Finds the bracket tags of a message: `[plan]`, `[plan:auto]`, `[rule:frontend]`, in any case."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    Candidate = tuple[int, int, str, str]  # start, end, tag, variant

LONGEST = 80
"""Characters between the brackets, at most."""


def parse(text: str, table: Collection[str]) -> list[dict[str, Any]]:
    """The tags in `text`, in order: [{"tag": "plan", "variant": "auto" or "", "start": int, "end": int, "text": str}].

    `table` has the names of the tags, in lower case. `text[start:end]` is the tag with its brackets, `text` what
    follows it up to the next tag or the end, stripped. Tag and variant are in lower case; a variant is any text of one
    line, and whether there is such a one is for others to say. Where a tag is none: tags/inline.py, tags/blocks.py.
    """
    candidates = {candidate[0]: candidate for candidate in _candidates(text, table)}
    if not candidates:
        return []
    from nexus_mcp.tags import blocks, inline  # most messages have no tag

    pieces, labels = blocks.split(text)
    starts = [found for start, end in pieces for found in inline.outside(text, start, end, candidates, labels)]
    ends = [*starts[1:], len(text)][: len(starts)]
    return [_made(text, candidates[start], until) for start, until in zip(starts, ends, strict=True)]


def _candidates(text: str, table: Collection[str]) -> list[Candidate]:
    """What looks like a tag of the table, wherever it stands."""
    found = []
    begin, close = 0, text.find("]")
    while close >= 0:
        start = text.rfind("[", max(begin, close - LONGEST - 1), close) if close > begin else -1
        if start >= 0:
            name, _, variant = text[start + 1 : close].partition(":")
            tag = name.lower()
            # A list's check box is no tag, whatever the table says.
            if name.isascii() and tag in table and tag != "x" and "\n" not in variant:
                found.append((start, close + 1, tag, variant.strip().lower()))
        begin, close = close + 1, text.find("]", close + 1)
    return found


def _made(text: str, candidate: Candidate, until: int) -> dict[str, Any]:
    start, end, tag, variant = candidate
    after = text[end:until].strip()
    if after.startswith(":") and not after[1:2].strip():  # [plan]: as people write a label
        after = after[1:].strip()
    return {"tag": tag, "variant": variant, "start": start, "end": end, "text": after}
