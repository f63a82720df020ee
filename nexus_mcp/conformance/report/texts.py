"""Values and texts of a target made fit to be shown: nothing in them acts on a terminal, and none is too long.

A target may answer anything. Control, bidirectional and zero-width characters and lone surrogates are written as JSON
escapes them, so that a report shows what is there and cannot be made to show something else.
"""

from __future__ import annotations

import json
import math
from typing import Any

from nexus_mcp.conformance.result import MISSING

DEEPEST = 60
"""Levels of a value that are shown; what lies deeper is named, not shown."""
LARGEST = 4096
"""Bits of a whole number that is shown; Python refuses to spell the really large ones."""


def escaped(text: str, keep: str = "") -> str:
    """The text with every character that is not printable escaped, but for those in `keep`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escape(char) for char in text)


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


def plain(value: Any, levels: int = DEEPEST) -> Any:
    """The value with nothing in it that JSON has no spelling for, and not too deep."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= LARGEST else f"(a number of {value.bit_length()} bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not levels:
        return "(nested too deeply to be shown)"
    if isinstance(value, dict):
        return {str(name): plain(member, levels - 1) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, levels - 1) for item in value]
    return str(value)


def counted(number: int, one: str) -> str:
    """ "1 fixture", "2 fixtures"."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def _json(value: Any) -> str:
    return escaped(json.dumps(plain(value), ensure_ascii=False))


def _escape(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
