"""Lists in pages: a cursor says after which item to go on, so that what comes and goes meanwhile spoils nothing."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from nexus_mcp.server.faults import INVALID_PARAMS, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Items = Callable[[str | None], Iterator[tuple[str, Any]]]

SIZE = 100
"""Items of a page."""


def page(cursor: str | None, parts: Sequence[Items]) -> tuple[list[Any], str]:
    """(the items of the page that the cursor asks for, the cursor of the one after it: "" when this is the last).

    Each of the `parts` of the list gives (key, item) in the order of the keys, from the one after a key on. No cursor,
    or an empty one, stands for the first page. Raises Fault for one that this function did not make.
    """
    first, after = _read(cursor, len(parts)) if cursor else (0, None)
    shown: list[Any] = []
    last = ""
    for number in range(first, len(parts)):
        for key, item in parts[number](after if number == first else None):
            if len(shown) == SIZE:
                return shown, last
            shown.append(item)
            last = _made(number, key)
    return shown, ""


def _made(part: int, key: str) -> str:
    return urlsafe_b64encode(f"{part}:{key}".encode()).decode().rstrip("=")


def _read(cursor: str, parts: int) -> tuple[int, str]:
    try:
        number, _, key = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition(":")
        part = int(number) if len(number) <= 2 else parts
    except ValueError:
        part, key = parts, ""
    if not 0 <= part < parts or _made(part, key) != cursor:
        raise Fault(INVALID_PARAMS, "Invalid cursor: take the nextCursor of a page of this list, or none")
    return part, key
