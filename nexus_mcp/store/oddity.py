"""Where in a JSON text the first thing is that its grammar allows and we do not: for the message, after it was refused.

The C reader that found it does not say where, so the text is walked once more, token by token.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|-?Infinity|NaN|[^\s{}\[\],:"]+', re.DOTALL)
_MAX_DIGITS = 4300


def first(text: str, depth: int) -> int | None:
    """The position of the first repeated key, number beyond what is kept, NaN, or container below `depth` levels.

    None when there is none, or when the text is no JSON before it comes.
    """
    keys: list[set[str] | None] = []  # for each open container the keys of an object, None for an array
    previous = ""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in ("{", "["):
            keys.append(set() if word == "{" else None)
            if len(keys) > depth:
                return token.start()
        elif word in ("}", "]"):
            if not keys:
                return None
            keys.pop()
        elif word[0] == '"':
            known = keys[-1] if keys else None
            if known is not None and previous in ("{", ","):
                name = _meant(word)
                if name in known:
                    return token.start()
                known.add(name)
        elif word not in (",", ":") and _is_odd(word):
            return token.start()
        previous = word
    return None


def _meant(word: str) -> str:
    import json

    try:
        return str(json.loads(word))
    except ValueError:
        return word


def _is_odd(word: str) -> bool:
    if word in ("true", "false", "null"):
        return False
    if word.lstrip("-").isdigit():
        return len(word) > _MAX_DIGITS
    try:
        return float(word) in (float("inf"), float("-inf")) or word.endswith("NaN")
    except ValueError:
        return False


def line_and_column(text: str, position: int) -> str:
    """`line 3, column 5` of a position, both counted from 1."""
    return f"line {text.count(chr(10), 0, position) + 1}, column {position - text.rfind(chr(10), 0, position)}"
