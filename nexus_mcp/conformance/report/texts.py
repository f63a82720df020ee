"""Values and texts of a target made fit to be shown: nothing in them acts on a terminal, and none is too long.

A target may answer anything. Control, bidirectional and zero-width characters and lone surrogates are written as JSON
escapes them, so that a report shows what is there and cannot be made to show something else.
"""

from __future__ import annotations

import json
from typing import Any

from nexus_mcp.conformance.evidence import fitted
from nexus_mcp.conformance.result import MISSING, Cut

_PIECE = 1 << 16
_ALL = 1 << 60


def escaped(text: str, keep: str = "") -> str:
    """The text with every character that is not printable escaped, but for those in `keep`."""
    if text.isprintable():
        return text
    # Piece by piece: a list of all characters takes eight times as much memory as the text.
    pieces = (text[place : place + _PIECE] for place in range(0, len(text), _PIECE))
    return "".join(_escaped(piece, keep) for piece in pieces)


def _escaped(piece: str, keep: str) -> str:
    if piece.isprintable():
        return piece
    return "".join(char if char.isprintable() or char in keep else _escape(char) for char in piece)


def block(text: str) -> str:
    """A text of several lines, its newlines and tabs kept."""
    return escaped(text, "\n\t")


def shortened(text: str, limit: int) -> str:
    """The text, or its first `limit` characters and how many there are in all."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text):,} characters in all)"


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line, escaped, at most `limit` characters of it."""
    return escaped(shortened(text, limit))


def shown(value: Any, limit: int = 200) -> str:
    """A value as JSON on one line, escaped, at most `limit` characters of it; "missing" for MISSING."""
    if value is MISSING:
        return "missing"
    # A text is cut before it is spelled: the quotes stay around what is left of it, and no escape is cut in two.
    if isinstance(value, str):
        end = f'…" ({len(value):,} characters in all)' if len(value) > limit else '"'
        return _json(value[:limit])[:-1] + end
    return shortened(_json(value), limit)


def indented(value: Any, limit: int) -> str:
    """A value as JSON on several lines, escaped, at most `limit` characters of it."""
    return shortened(block(json.dumps(plain(value), ensure_ascii=False, indent=2)), limit)


def plain(value: Any) -> Any:
    """The value with nothing in it that JSON has no spelling for, and not too deep."""
    return fitted(value, _ALL)


def counted(number: int, one: str) -> str:
    """ "1 fixture", "2 fixtures"."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def cut_note(cut: Cut) -> str:
    """What a report says where evidence was left out."""
    return f"Left out of the evidence, which has bounds: {cut}."


def _json(value: Any) -> str:
    return escaped(json.dumps(plain(value), ensure_ascii=False))


def _escape(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
