"""The text of a state file as its reader goes through it: where each row ends.

Everything here raises ValueError or RecursionError where the text is not what a state file is. Neither says what a
user has to know; whoever meets one reads the file in the way that does (codec.decode).
"""

from __future__ import annotations

from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]

from nexus_mcp.store import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = codec.SESSION_DEPTH - 2  # of a row: it lies in an array in an object
GAP = ",\n    "  # between two rows, nearly always


def whole(text: str, rows: str) -> tuple[dict[str, Any], int, list[int]]:
    """(the object, the place after the bracket that opens its array `rows`, the end of each row)."""
    value: dict[str, Any] = {}
    opening, ends = -1, list[int]()
    at = skipped(text, expected(text, skipped(text, 0), "{"))
    while text[at : at + 1] != "}":
        if value:
            at = skipped(text, expected(text, at, ","))
        name, at = scanstring(text, expected(text, at, '"'), True)  # noqa: FBT003 - refuses controls, takes no keyword
        if name in value:
            raise ValueError(name)
        at = skipped(text, expected(text, skipped(text, at), ":"))
        if name == rows:
            opening = expected(text, at, "[")
            first = skipped(text, opening)
            value[name], ends, at = ([], ends, first) if text[first : first + 1] == "]" else items(text, opening)
            at = expected(text, at, "]")
        else:
            value[name], at = codec.STRICT.raw_decode(text, at)
            if codec.too_deep(value[name], codec.SESSION_DEPTH - 1):
                raise ValueError(name)
        at = skipped(text, at)
    if opening < 0 or skipped(text, at + 1) != len(text):
        raise ValueError(rows)
    return value, opening, ends


def items(text: str, at: int) -> tuple[list[dict[str, Any]], list[int], int]:
    """(objects with commas between them, from `at` on; where each of them ends; the place where no comma follows)."""
    found: list[dict[str, Any]] = []
    ends: list[int] = []
    scan = codec.STRICT.scan_once  # type: ignore[attr-defined]
    begin = skipped(text, at)
    while True:
        try:
            row, at = scan(text, begin)
        except StopIteration as error:
            raise ValueError(begin) from error
        if not isinstance(row, dict):
            raise ValueError(begin)
        # With fewer brackets than levels nobody can be that deep.
        if text.count("{", begin, at) + text.count("[", begin, at) > DEPTH and codec.too_deep(row, DEPTH):
            raise ValueError(begin)
        found.append(row)
        ends.append(at)
        if text.startswith(GAP, at):
            begin = at + len(GAP)
            continue
        at = skipped(text, at)
        if text[at : at + 1] != ",":
            return found, ends, at
        begin = skipped(text, at + 1)


def skipped(text: str, at: int) -> int:
    """The place after white space."""
    end: int = WHITESPACE.match(text, at).end()
    return end


def expected(text: str, at: int, char: str) -> int:
    """The place after `char`."""
    if text[at : at + 1] != char:
        raise ValueError(at)
    return at + 1
