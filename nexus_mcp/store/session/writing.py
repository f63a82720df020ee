"""Compose the bytes of a changed session file; rows that stayed are copied from the old bytes."""

from __future__ import annotations

import itertools
from operator import is_not

from nexus_mcp import schemas
from nexus_mcp.state import shapes
from nexus_mcp.state.rows import Rows
from nexus_mcp.store.codec import Invalid
from nexus_mcp.store.session import layout
from nexus_mcp.store.session.document import KINDS, Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.store.session.document import Kind


def compose(name: str, known: Document | None, value: dict[str, Any]) -> Document:
    """The document that `value` makes of the file `name`: its bytes are codec.encode(shapes.order(value)), whatever
    is `known`.

    Rows are the same when they are the same objects: one that was read is never changed. Raises ValueError when
    `value` is not what belongs there, and Invalid for a number with too many digits.
    """
    kind = KINDS[name]
    rows, order = value[kind.rows], layout.row_schema(kind)
    source = known if known is not None and known.is_ours else Document(kind, b"", {kind.rows: Rows([])}, 0, closing=0)
    old: Rows = source.value[kind.rows]
    start, count = _same_ends(old, rows)
    new = [shapes.order(row, order) for row in rows[start : len(rows) - count]]
    is_around = _is_around(source, value)
    _check(kind, value, new, only_rows=is_around)
    try:
        bare, head, tail = layout.split(source) if is_around else layout.lay_out(kind, value)
        texts = [layout.encode_row(row) for row in new]
    except ValueError as error:
        raise Invalid("has a number with too many digits", "digits") from error

    rest = len(old) - count
    there = memoryview(source.data)  # most of it, which may be much, is copied once: into the new bytes
    left = there[source.opening : source.opening + sum(source.lengths[:start])]
    begin = source.opening + len(left) + sum(source.lengths[start:rest]) + _gap(rest)
    right = there[begin : source.closing] if count else b""
    middle = layout.join_rows(texts, first=not start, last=not count)

    lengths = source.lengths[:start]
    for text in texts:
        lengths.append(_gap(len(lengths)) + len(text))
    if count:
        lengths += [source.lengths[rest] + _gap(len(lengths)) - _gap(rest), *source.lengths[rest + 1 :]]
    bare[kind.rows] = Rows.spliced(old, start, new, rest)
    end = (layout.END if count else b"") + tail
    shared = (
        len(head) + len(left) if source.data.startswith(head) else 0,
        len(right) + len(end) if (there[source.closing :] == end if count else source.data.endswith(end)) else 0,
    )
    data = b"".join((head, left, middle, right, end))
    closing = len(data) - len(tail) - len(layout.END) * bool(lengths)
    summed = source.summed(shared[0])
    return Document(kind, data, bare, len(head), lengths, closing=closing, is_ours=True, shared=shared, summed=summed)


def detect_layout(document: Document) -> Document:
    """The document, knowing whether it is laid out as we do: that takes about as long as writing all of it anew."""
    kind, rows, order = document.kind, document.value[document.kind.rows], layout.row_schema(document.kind)
    if document.is_ours or document.opening < 0:
        return document
    try:
        _, head, tail = layout.lay_out(kind, document.value)
        texts = [layout.encode_row(shapes.order(row, order)) for row in rows]
    except ValueError:
        return document
    if b"".join((head, layout.join_rows(texts, first=True, last=True), tail)) != document.data:
        return document
    data, closing = document.data, document.closing
    return Document(kind, data, document.value, document.opening, document.lengths, closing=closing, is_ours=True)


def _is_around(known: Document, value: dict[str, Any]) -> bool:
    """Whether all members of `value` but its rows are those that are known."""
    there = known.value
    others = [*itertools.compress(value, map(is_not, there.values(), value.values()))]
    return [*there] == [*value] and others in ([], [known.kind.rows])


def _check(kind: Kind, value: dict[str, Any], new: list[dict[str, Any]], *, only_rows: bool) -> None:
    """Raises ValueError when the `new` rows, or, unless that is known, the rest of `value`, are not what is read."""
    if not only_rows:
        shapes.check_new({**value, kind.rows: new}, schemas.readable(kind.schema), kind.name)
        return
    for row in new:
        shapes.check_new(row, shapes.row(kind.schema), kind.name)


def _gap(before: int) -> int:
    """The length of what lies before a row that has so many rows before it."""
    return len(layout.GAP if before else layout.FIRST_GAP)


def _same_ends(old: list[Any], new: list[Any]) -> tuple[int, int]:
    """(how many rows at the beginning are the same objects, how many of the others at the end)."""
    start = _same(map(is_not, old, new), min(len(old), len(new)))
    most = min(len(old), len(new)) - start
    return start, _same(map(is_not, reversed(old), reversed(new)), most) if most else 0


def _same(differ: Iterator[bool], most: int) -> int:
    return min(next(itertools.compress(itertools.count(), differ), most), most)
