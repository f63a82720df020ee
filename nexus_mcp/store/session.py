"""Read plan.json and tasks.json, compose their new bytes, and cache their last parsed state.

Each read compares all bytes of the file with the cached bytes; the cache saves only parsing and checking. Two versions
of a file may have the same times, size and inode, but never the same bytes. So the cache is never stale, whichever
program wrote the file.

A file is written whole. Rows (the issues of a plan, the tasks of a list) that did not change keep their JSON text,
because Python takes 10 µs to encode one. These texts also identify the unchanged rows of a file that another process
wrote, so that only changed rows are parsed. msgspec would be fast enough without the texts, but it writes floats in
another way, refuses long integers, and takes longer to load than a short change takes.
"""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp import schemas
from nexus_mcp.errors import NexusError
from nexus_mcp.state import oplog, shapes
from nexus_mcp.state.rows import Row, Rows
from nexus_mcp.store import codec, journal, paths
from nexus_mcp.store.codec import Invalid
from nexus_mcp.store.paths import PLAN, TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

    Frame = tuple[bytes, bytes]
    """The bytes before the rows, up to the bracket that opens them, and after the rows, from the bracket that closes
    them.
    """

MAX_CACHED_BYTES = 16 << 20
"""A larger file is not cached but parsed at each read, because its values take ten times as much memory."""
_ROW_MARGIN = "\n    "
_FIRST = b"\n    "  # before the first row
_LAST = b"\n  "  # after the last row
_ROW_BEGIN, _ROW_END = b"{\n", b"\n    }"
_BETWEEN = b",\n    "
# `_CUT` occurs only between two rows, because no string holds a newline, and deeper values have a wider margin. For the
# same reasons the name of the array of rows, with its margin, occurs only once: `compose` splits the text there.
_CUT = _ROW_END + _BETWEEN + _ROW_BEGIN


class Kind:
    """A kind of session file: its `schema`, and `rows`, the name of its array of rows."""

    __slots__ = ("name", "rows", "schema", "shown")

    def __init__(self, name: str, schema: str, rows: str) -> None:
        self.name = name
        self.schema = schema
        self.rows = rows
        self.shown = f".nexus/state/{name}"


KINDS = {PLAN: Kind(PLAN, shapes.PLAN, "issues"), TASKS: Kind(TASKS, shapes.TASKS, "tasks")}


class Document:
    """The bytes of a session file and their checked value. Neither is ever changed.

    `frame` is None for a file that may have another layout than ours. `mark` is the checksum of the bytes for the
    operation log, None if it was not computed.
    """

    __slots__ = ("data", "frame", "kind", "mark", "value")

    def __init__(
        self,
        kind: Kind,
        data: bytes,
        value: dict[str, Any],
        frame: Frame | None = None,
        mark: oplog.Mark | None = None,
    ) -> None:
        self.kind = kind
        self.data = data
        self.value = value
        self.frame = frame
        self.mark = mark


class SessionCache:
    """The documents of one workspace, by name. Each is replaced as a whole, so threads need no lock."""

    __slots__ = ("_documents",)

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def read(self, state: Folder | None, name: str) -> Document | None:
        """Return the present document of `name`, None if absent. Raise StateError, PathRefused, StorageError."""
        return self.parse(name, _read_bytes(state, name))

    def parse(self, name: str, data: bytes | None) -> Document | None:
        """Return the document of the file `name` with the bytes `data`; None if `data` is None. Raise StateError."""
        if data is None:
            self._documents.pop(name, None)
            return None
        known = self._documents.get(name)
        found = read(name, data, known)
        if found is not known:
            self._put(found)
        return found

    def compose(self, name: str, value: dict[str, Any]) -> Document:
        """Return the result of the function `compose`, and cache it before it is written. Raise its errors."""
        made = compose(name, value)
        self._put(made)
        return made

    def prepare(self, state: Folder | None) -> None:
        """Cache the files, as far as they can be read, with the texts of their rows, unless that was done before.

        Call it before taking the lock, because other processes would have to wait meanwhile.
        """
        if any(known.frame is not None for known in self._documents.values()):
            return
        for name in paths.SESSION:
            schemas.readable(KINDS[name].schema).keeps(None)
            with suppress(NexusError, ValueError):  # the next read reports the fault
                found = self.read(state, name)
                if found is not None:
                    made = compose(name, found.value)
                    if made.data == found.data:  # then its value is equal, too, with the fields in the same order
                        self._put(made)

    def _put(self, document: Document) -> None:
        if len(document.data) <= MAX_CACHED_BYTES:
            self._documents[document.kind.name] = document
        else:
            self._documents.pop(document.kind.name, None)


class SessionSnapshot:
    """The session files as they were at one moment, or the error of reading them, which plan() and tasks() raise.

    Two snapshots are equal when they hold the same bytes, or the same errors.
    """

    __slots__ = ("_cache", "_read")

    def __init__(self, cache: SessionCache, at: Folder | NexusError | None) -> None:
        self._cache = cache
        self._read = [at if isinstance(at, NexusError) else _read_or_error(at, name) for name in paths.SESSION]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionSnapshot) and [*map(_comparable, self._read)] == [
            *map(_comparable, other._read)
        ]

    __hash__ = None  # type: ignore[assignment]

    def plan(self) -> dict[str, Any] | None:
        """Return plan.json, None if there is no plan. Raise StateError, PathRefused, StorageError."""
        return self._value(0)

    def tasks(self) -> dict[str, Any] | None:
        """Return tasks.json, None if absent. Raise StateError, PathRefused, StorageError."""
        return self._value(1)

    def _value(self, number: int) -> dict[str, Any] | None:
        read = self._read[number]
        if isinstance(read, NexusError):
            raise read
        document = self._cache.parse(paths.SESSION[number], read)
        return None if document is None else document.value


def read(name: str, data: bytes, known: Document | None = None) -> Document:
    """Return the document of the file `name` with the bytes `data`; `known`, an older document, only saves work. Raise
    StateError.
    """
    kind = KINDS[name]
    if known is not None:
        if known.data == data:
            return known
        rows = _rows_by_text(known, data)
        if rows is not None:
            return Document(kind, data, {**known.value, kind.rows: rows}, known.frame)
    value = shapes.check(codec.decode(data, kind.shown), kind.schema, kind.shown)
    return Document(kind, data, {**value, kind.rows: Rows(map(Row, value[kind.rows]))})


def compose(name: str, value: dict[str, Any]) -> Document:
    """Return the document of the file `name` with the bytes codec.encode(shapes.order(value)).

    A `Row` was checked before; every other row is checked now. Raise ValueError if `value` does not fit the schema,
    and Invalid for a number with too many digits.
    """
    kind = KINDS[name]
    rows = value[kind.rows]
    without_text = [row for row in rows if type(row) is not Row or not row.text]
    new = [row for row in without_text if type(row) is not Row]
    made = shapes.order_checked({**value, kind.rows: without_text}, new, kind.schema, name)
    ordered = iter(made[kind.rows])
    try:
        written = Rows([row if type(row) is Row and row.text else _lay_out(next(ordered)) for row in rows])
        head, opening, tail = codec.encode({**made, kind.rows: []}).partition(b'\n  "%b": [' % kind.rows.encode())
    except ValueError as error:
        raise Invalid("has a number with too many digits", "digits") from error
    made[kind.rows] = written
    between = [_FIRST, _BETWEEN.join([row.text for row in written]), _LAST] if written else []
    frame = head + opening, tail
    data = b"".join([frame[0], *between, frame[1]])
    return Document(kind, data, made, frame, oplog.mark(data))


def _rows_by_text(known: Document, data: bytes) -> Rows | None:
    """Return the rows in `data`, parsing only rows with an unknown text; None if `data` has to be parsed as a whole.

    If the text around the rows is the same, and each row is one JSON object, these are the rows of the whole file.
    """
    if known.frame is None:
        return None
    begin, end = known.frame[0] + _FIRST + _ROW_BEGIN, _ROW_END + _LAST + known.frame[1]
    if len(data) < len(begin) + len(end) or not (data.startswith(begin) and data.endswith(end)):
        return None
    schema = schemas.load(known.kind.schema)["properties"][known.kind.rows]["items"]
    texts = {row.text: row for row in known.value[known.kind.rows]}
    found = Rows()
    try:
        for part in data[len(begin) : len(data) - len(end)].split(_CUT):
            text = b"%b%b%b" % (_ROW_BEGIN, part, _ROW_END)
            row = texts.get(text)
            if row is None:
                value = codec.STRICT.decode(text.decode())
                if codec.is_too_deep(value, codec.SESSION_DEPTH - 2):  # a row is two levels deep
                    return None
                shapes.check_rows([value], known.kind.schema)
                row = _lay_out(shapes.order(value, schema))
                row = row if row.text == text else Row(value)
            found.append(row)
    except (ValueError, RecursionError):  # only a whole parse can locate the fault
        return None
    return found


def _lay_out(ordered: dict[str, Any]) -> Row:
    """Return the row as it is written, with its text. Raise ValueError for a number with too many digits."""
    row = Row(ordered)
    row.text = codec.encode_part(row, _ROW_MARGIN)
    return row


def _read_or_error(state: Folder | None, name: str) -> bytes | NexusError | None:
    try:
        return _read_bytes(state, name)
    except NexusError as error:
        return error


def _comparable(read: bytes | NexusError | None) -> bytes | str | None:
    return str(read) if isinstance(read, NexusError) else read


def _read_bytes(state: Folder | None, name: str) -> bytes | None:
    return None if state is None else state.read(name, journal.SESSION_LIMIT)
