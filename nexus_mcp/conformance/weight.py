"""Estimate what a JSON text takes in memory before it is parsed: a short text can hold very many values."""

from __future__ import annotations

import re
from itertools import islice

# Possessive, so that a text without a closing quote takes no longer than any other.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,:\[{]', re.DOTALL)
_QUOTE = 34
_WIDE = re.compile(rb"[\xf0-\xf7]|\\u[dD][89abAB]")
_SMALL = 1 << 16
_STRUCTURE = (b",", b":", b"[", b"{")


def values(text: bytes, enough: int) -> int:
    """Return how many values a JSON text has at most, or, from `enough` on, some number that is as large."""
    most = sum(map(text.count, _STRUCTURE))
    if most < enough:
        return most + 1
    tokens = (match.start() for match in _TOKEN.finditer(text))
    return 1 + sum(1 for _ in islice((place for place in tokens if text[place] != _QUOTE), enough + 1))


def characters(text: bytes) -> int:
    """Return how many bytes the text takes as a Python string: one character beyond U+FFFF makes each take four."""
    if len(text) < _SMALL:
        return len(text)
    if _WIDE.search(text):
        return 4 * len(text)
    return len(text) if text.isascii() else 2 * len(text)
