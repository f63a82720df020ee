"""Lay a session file out as codec.encode does, in parts: what is around its rows, and each row."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.state import shapes
from nexus_mcp.store.codec import encode_utf8, pretty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.session.document import Document, Kind

_MARGIN = "\n  "
_ROW_MARGIN = "\n    "
FIRST_GAP = b"\n    "  # before the first row
GAP = b",\n    "  # before any other one
END = b"\n  "  # after the last one


def lay_out(kind: Kind, value: dict[str, Any]) -> tuple[dict[str, Any], bytes, bytes]:
    """(`value` without its rows and with its members in order, the bytes before the rows, the bytes after them).

    Raises ValueError for a number with too many digits.
    """
    bare = shapes.order({**value, kind.rows: []}, schemas.load(kind.schema))
    members = [f"{pretty(name)}: {pretty(member, _MARGIN)}" for name, member in bare.items()]
    here = list(bare).index(kind.rows)
    head = f",{_MARGIN}".join([*members[:here], members[here][:-1]])  # without the bracket that closes the rows
    tail = f",{_MARGIN}".join(["]", *members[here + 1 :]])
    return bare, encode_utf8(f"{{{_MARGIN}{head}"), encode_utf8(f"{tail}\n}}\n")


def split(known: Document) -> tuple[dict[str, Any], bytes, bytes]:
    """The same, taken from a document that is laid out as ours are."""
    end = known.closing + len(END) if known.lengths else known.opening
    return dict(known.value), known.data[: known.opening], known.data[end:]


def row_schema(kind: Kind) -> dict[str, Any]:
    """The schema of a row, in whose order its members are written."""
    row: dict[str, Any] = schemas.load(kind.schema)["properties"][kind.rows]["items"]
    return row


def encode_row(row: dict[str, Any]) -> bytes:
    """A row as it lies in the file. Raises ValueError for a number with too many digits."""
    return encode_utf8(pretty(row, _ROW_MARGIN))


def join_rows(rows: list[bytes], *, first: bool, last: bool) -> bytes:
    """What lies between the row before `rows` and the one after them.

    `first`, `last`: there is no row before, or after, but a bracket of the array.
    """
    parts = [*[b""] * (not first), *rows, *[b""] * (not last)]
    return b"".join((FIRST_GAP * first, GAP.join(parts), END * last)) if parts else b""
