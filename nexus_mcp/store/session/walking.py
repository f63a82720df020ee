"""Walk the text of a session file and record where each row ends.

Every function here raises ValueError or RecursionError for a malformed file. Neither holds a message for the user; the
caller then parses the file with codec.decode, which does.
"""

from __future__ import annotations

from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]

from nexus_mcp.store import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = codec.SESSION_DEPTH - 2  # of a row: it lies in an array in an object
GAP = ",\n    "  # between two rows, nearly always


def walk(text: str, rows: str) -> tuple[dict[str, Any], int, list[int]]:
    """(the object, the place after the bracket that opens its array `rows`, the end of each row)."""
    value: dict[str, Any] = {}
    opening, ends = -1, list[int]()
    at = skip(text, expect(text, skip(text, 0), "{"))
    while text[at : at + 1] != "}":
        if value:
            at = skip(text, expect(text, at, ","))
        name, at = scanstring(text, expect(text, at, '"'), True)  # noqa: FBT003 - refuses controls, takes no keyword
        if name in value:
            raise ValueError(name)
        at = skip(text, expect(text, skip(text, at), ":"))
        if name == rows:
            opening = expect(text, at, "[")
            first = skip(text, opening)
            value[name], ends, at = ([], ends, first) if text[first : first + 1] == "]" else walk_rows(text, opening)
            at = expect(text, at, "]")
        else:
            value[name], at = codec.STRICT.raw_decode(text, at)
            if codec.is_too_deep(value[name], codec.SESSION_DEPTH - 1):
                raise ValueError(name)
        at = skip(text, at)
    if opening < 0 or skip(text, at + 1) != len(text):
        raise ValueError(rows)
    return value, opening, ends


def walk_rows(text: str, at: int) -> tuple[list[dict[str, Any]], list[int], int]:
    """(objects with commas between them, from `at` on; where each of them ends; the place where no comma follows)."""
    found: list[dict[str, Any]] = []
    ends: list[int] = []
    scan = codec.STRICT.scan_once  # type: ignore[attr-defined]
    begin = skip(text, at)
    while True:
        try:
            row, at = scan(text, begin)
        except StopIteration as error:
            raise ValueError(begin) from error
        if not isinstance(row, dict):
            raise ValueError(begin)
        # With fewer brackets than levels no value can be that deep.
        if text.count("{", begin, at) + text.count("[", begin, at) > DEPTH and codec.is_too_deep(row, DEPTH):
            raise ValueError(begin)
        found.append(row)
        ends.append(at)
        if text.startswith(GAP, at):
            begin = at + len(GAP)
            continue
        at = skip(text, at)
        if text[at : at + 1] != ",":
            return found, ends, at
        begin = skip(text, at + 1)


def skip(text: str, at: int) -> int:
    """The place after white space."""
    end: int = WHITESPACE.match(text, at).end()
    return end


def expect(text: str, at: int, char: str) -> int:
    """The place after `char`."""
    if text[at : at + 1] != char:
        raise ValueError(at)
    return at + 1
