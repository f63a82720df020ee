"""Where in a JSON text the value of a JSON pointer stands."""

from __future__ import annotations

import json
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]

# Numbers stay text: one that Python cannot hold has a place, too.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def position(text: str, pointer: str, start: int = 0) -> int:
    """Where the value that `pointer` names begins, from the value that begins at or after `start`.

    Where it does not exist, as with a required member that is missing, the innermost value that does. `text` must be
    JSON from there on; raises ValueError or IndexError when it is not.
    """
    at = _skip(text, start)
    for part in pointer.split("/")[1:]:
        inner = _inner(text, at, part.replace("~1", "/").replace("~0", "~"))
        if inner is None:
            break
        at = inner
    return at


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Line and column of a position, both from 1; a byte order mark is no column."""
    start = text.rfind("\n", 0, at) + 1 or int(text.startswith("\ufeff"))
    return text.count("\n", 0, at) + 1, max(at, start) - start + 1


def _inner(text: str, at: int, name: str) -> int | None:
    """Where the member or item `name` of the container at `at` begins, None when there is none."""
    kind = text[at]
    if kind not in "{[":
        return None
    at = _skip(text, at + 1)
    number = 0
    while text[at] not in "}]":
        key = str(number)
        if kind == "{":
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        if key == name:
            return at
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        number += 1
    return None


def _skip(text: str, at: int) -> int:
    found = WHITESPACE.match(text, at)
    return at if found is None else int(found.end())
