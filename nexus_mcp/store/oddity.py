"""Where in a JSON text something is that its grammar allows and we do not: for the message, after it was refused.

The C reader that found it does not say where, so the text is walked once more, token by token.
"""

from __future__ import annotations

import re

from nexus_mcp.store.codec import MAX_DIGITS

KEY, CONSTANT, NUMBER, DIGITS, DEPTH = "key", "constant", "number", "digits", "depth"
# Possessive: without that a long string costs a hundred bytes a character, and one that never ends quadratic time.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(")?|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)


def first(text: str, kind: str, depth: int) -> int | None:
    """The position of the first repeated KEY, NaN or infinite CONSTANT, NUMBER that no float holds, integer of too many
    DIGITS, or container DEPTH below `depth` levels; None when there is none before the text stops being JSON."""
    keys: list[set[str] | None] = []  # for each open container the keys of an object, None for an array
    previous = ""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word[0] == '"' and token[1] is None:
            return None
        if word in ("{", "["):
            keys.append(set() if word == "{" else None)
            if kind == DEPTH and len(keys) > depth:
                return token.start()
        elif word in ("}", "]"):
            if not keys:
                return None
            keys.pop()
        elif word[0] == '"':
            if kind == KEY and previous in ("{", ",") and keys and _is_repeated(word, keys[-1]):
                return token.start()
        elif word not in (",", ":") and _is(kind, word):
            return token.start()
        previous = word
    return None


def _is_repeated(word: str, known: set[str] | None) -> bool:
    if known is None:
        return False
    name = _meant(word)
    repeated = name in known
    known.add(name)
    return repeated


def _meant(word: str) -> str:
    import json

    try:
        return str(json.loads(word))
    except ValueError:
        return word


def _is(kind: str, word: str) -> bool:
    if kind == CONSTANT:
        return word in ("NaN", "Infinity", "-Infinity")
    digits = word.lstrip("-")
    if kind == DIGITS:
        return digits.isdigit() and len(digits) > MAX_DIGITS
    if kind != NUMBER or not digits[:1].isdigit() or digits.isdigit():
        return False
    try:
        return float(word) in (float("inf"), float("-inf"))
    except ValueError:
        return False


def line_and_column(text: str, position: int) -> str:
    """`line 3, column 5` of a position, both counted from 1; a byte order mark is no column."""
    start = text.rfind("\n", 0, position) + 1 or int(text.startswith("\ufeff"))
    return f"line {text.count(chr(10), 0, position) + 1}, column {max(position, start) - start + 1}"
