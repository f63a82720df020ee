"""Split lists into pages. A cursor names the last item shown, so items may come and go between pages."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from nexus_mcp.server.faults import INVALID_PARAMS, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Items = Callable[[str | None], Iterator[tuple[str, Any]]]

SIZE = 100
"""Items per page."""


def page(cursor: str | None, parts: Sequence[Items]) -> tuple[list[Any], str]:
    """Return (the items of the page at `cursor`, the next cursor); the next cursor is "" on the last page.

    Each of `parts` yields (key, item) in a fixed order, starting after a key. None or "" as cursor means the first
    page. Raise Fault for a text that cannot be a cursor of this list.
    """
    first, after = _read(cursor, len(parts)) if cursor else (0, None)
    shown: list[Any] = []
    last = ""
    for number in range(first, len(parts)):
        for key, item in parts[number](after if number == first else None):
            if len(shown) == SIZE:
                return shown, last
            shown.append(item)
            last = _encode(number, key)
    return shown, ""


def _encode(part: int, key: str) -> str:
    return urlsafe_b64encode(f"{part}:{key}".encode()).decode().rstrip("=")


def _read(cursor: str, parts: int) -> tuple[int, str]:
    try:
        number, _, key = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition(":")
        part = int(number) if len(number) <= 2 else parts
    except ValueError:
        part, key = parts, ""
    if not 0 <= part < parts or _encode(part, key) != cursor:
        raise Fault(INVALID_PARAMS, "Invalid cursor: take the nextCursor of a page of this list, or none")
    return part, key
