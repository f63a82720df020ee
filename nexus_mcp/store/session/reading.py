"""Parse a session file: whole, or only where its bytes differ from those of a known document.

Why a part is enough. After the same bytes a JSON parser is in the same state. And where it comes in the same state
(within the array of rows, a row due) to the same bytes until the end of the file, the rest parses to the same rows.
Only what lies between is parsed, and has to lead from the one state to the other. Anything else is parsed whole, and
so is every malformed file: only that finds out what is wrong, and where.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from nexus_mcp.state import delta, shapes
from nexus_mcp.state.rows import Rows
from nexus_mcp.store import codec
from nexus_mcp.store.session import layout, walking
from nexus_mcp.store.session.document import KINDS, Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.session.document import Kind


def read(name: str, data: bytes, known: Document | None = None) -> Document:
    """The document that the file `name` is, with the bytes `data`, whatever is `known`. Raises StateError."""
    if known is not None:
        if known.data == data:
            return known
        changed = patch(known, data)
        if changed is not None:
            return changed
    return read_whole(KINDS[name], data)


def read_whole(kind: Kind, data: bytes) -> Document:
    """As `read`, from the beginning to the end."""
    places = [-1]
    try:
        text = data.decode()
        value, opening, ends = walking.walk(text, kind.rows)
        places = to_byte_offsets(text, 0, [opening, *ends])
    except (ValueError, RecursionError):
        value = codec.decode(data, kind.shown)
    checked = shapes.check(value, kind.schema, kind.shown)
    value = {**checked, kind.rows: Rows(checked[kind.rows])}
    return Document(kind, data, value, places[0], _lengths(places), closing=places[-1])


def patch(known: Document, data: bytes) -> Document | None:
    """As `read`, from where `data` begins to differ from what is known; None when it has to be read whole."""
    from bisect import bisect_left, bisect_right  # a shared object: the first call does without

    old = known.data
    if known.opening < 0:
        return None
    prefix = delta.common_prefix(old, data, 0, min(len(old), len(data)))
    suffix = delta.common_suffix(old, data, 0, min(len(old), len(data)) - prefix)
    if prefix < known.opening:
        return None
    _, *ends = accumulate(known.lengths, initial=known.opening)
    start = bisect_right(ends, prefix)  # so many rows end within what is common
    rest = min(bisect_left(ends, len(old) - suffix) + 1, len(ends))  # the rows from here on begin in it
    begin = ends[start - 1] if start else known.opening
    # What is between two rows, or the last one and the bracket, is white space and a comma at most.
    stop = old.index(b"{" if rest < len(ends) else b"]", ends[rest - 1] if rest else known.opening)
    if stop < len(old) - suffix:
        return None
    try:
        middle = data[begin : len(data) - (len(old) - stop)]
        text = middle.decode()
        rows, found = _between(text, first=not start, last=rest == len(ends))
        new = shapes.check_rows(rows, known.kind.schema)
    except (ValueError, RecursionError):
        return None
    spliced = Rows.spliced(known.value[known.kind.rows], start, new, rest)
    is_ours = known.is_ours and middle == _as_ours(known.kind, new, first=not start, last=rest == len(ends))
    moved = len(data) - len(old)
    places = [begin, *to_byte_offsets(text, begin, found), *[end + moved for end in ends[rest : rest + 1]]]
    lengths = [*known.lengths[:start], *_lengths(places), *known.lengths[rest + 1 :]]
    closing = known.closing + moved if rest < len(ends) else places[-1]
    value = {**known.value, known.kind.rows: spliced}
    return Document(known.kind, data, value, known.opening, lengths, closing=closing, is_ours=is_ours)


def _between(text: str, *, first: bool, last: bool) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows in what lies between two rows, or, if `first` or `last`, the brackets of the array; where they end.

    Raises ValueError and RecursionError when it does not lead from the one to the other.
    """
    at = walking.skip(text, 0)
    if at == len(text):
        if not (first or last):
            raise ValueError(at)
        return [], []
    if not first:
        at = walking.skip(text, walking.expect(text, at, ","))
        if at == len(text) and not last:
            return [], []
    if not last:
        text = text.rstrip(" \t\r\n")
        text = text[: walking.expect(text, len(text) - 1, ",") - 1]
    rows, ends, at = walking.walk_rows(text, at)
    if at != len(text):
        raise ValueError(at)
    return rows, ends


def _as_ours(kind: Kind, rows: list[dict[str, Any]], *, first: bool, last: bool) -> bytes:
    order = layout.row_schema(kind)
    return layout.join_rows([layout.encode_row(shapes.order(row, order)) for row in rows], first=first, last=last)


def _lengths(places: list[int]) -> list[int]:
    return [end - begin for begin, end in pairwise(places)]


def to_byte_offsets(text: str, begin: int, ends: list[int]) -> list[int]:
    """Places in `text`, in order, as places in bytes, where the text begins at `begin`."""
    if text.isascii():
        return [begin + end for end in ends] if begin else ends
    found, last = [], 0
    for end in ends:
        begin += len(text[last:end].encode())
        last = end
        found.append(begin)
    return found
