"""Cache the session files as this process parsed them last, compared by all of their bytes.

Each read compares the whole file; only parsing and checking are saved. Times, sizes and inodes may be the same for two
contents, bytes are not: so nothing here can be stale, whichever program wrote meanwhile.
"""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp import schemas
from nexus_mcp.errors import NexusError
from nexus_mcp.store import journal, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.session.document import Document

MOST = 16 << 20
"""Bytes of a file beyond which it is read anew each time: its values take ten times as much."""


class SessionCache:
    """The documents of one workspace, by name. Each is put in its place whole, so threads need no lock."""

    __slots__ = ("_documents",)

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def read(self, state: Folder | None, name: str) -> Document | None:
        """plan.json or tasks.json as it is now, None when absent. Raises StateError, PathRefused, StorageError."""
        return self.parse(name, _read_bytes(state, name))

    def parse(self, name: str, data: bytes | None) -> Document | None:
        """The document that the file `name` is, with the bytes `data`; None for none. Raises StateError."""
        if data is None:
            self._documents.pop(name, None)
            return None
        from nexus_mcp.store.session.reading import read  # not at the start

        known = self._documents.get(name)
        found = read(name, data, known)
        if found is not known:
            self._keep(found)
        return found

    def compose(self, name: str, before: Document | None, value: dict[str, Any]) -> Document:
        """The document that `value` makes of the one `before`. Raises ValueError and Invalid as writing.compose does.

        It is known before it is written, and even if it never is.
        """
        from nexus_mcp.store.session.writing import compose

        made = compose(name, before, value)
        self._keep(made)
        return made

    def prepare(self, state: Folder | None) -> None:
        """Come to know the files, as far as they can be read, where this process knows the layout of none of them yet.

        Call it while there is time: under the lock it would keep all others waiting.
        """
        if any(known.is_ours for known in self._documents.values()):
            return
        from nexus_mcp.store.session import writing
        from nexus_mcp.store.session.document import KINDS

        for name in paths.SESSION:
            schemas.readable(KINDS[name].schema).keeps(None)
            with suppress(NexusError, ValueError):  # the next read reports what is wrong
                found = self.read(state, name)
                if found is not None:
                    found = writing.detect_layout(found)
                    found.mark()
                    self._keep(found)

    def _keep(self, document: Document) -> None:
        if len(document.data) <= MOST:
            self._documents[document.kind.name] = document
        else:
            self._documents.pop(document.kind.name, None)


class SessionSnapshot:
    """The session files as they were at one moment, or the error of reading them, which plan() and tasks() raise.

    It is equal to another one that has the same bytes, or the same to say.
    """

    __slots__ = ("_read", "_session")

    def __init__(self, kept: SessionCache, at: Folder | NexusError | None) -> None:
        self._session = kept
        self._read = [at if isinstance(at, NexusError) else _read_or_error(at, name) for name in paths.SESSION]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionSnapshot) and [*map(_comparable, self._read)] == [
            *map(_comparable, other._read)
        ]

    __hash__ = None  # type: ignore[assignment]

    def plan(self) -> dict[str, Any] | None:
        """plan.json, None when there is no plan. Raises StateError, PathRefused, StorageError."""
        return self._value(0)

    def tasks(self) -> dict[str, Any] | None:
        """tasks.json, None when absent. Raises StateError, PathRefused, StorageError."""
        return self._value(1)

    def _value(self, number: int) -> dict[str, Any] | None:
        read = self._read[number]
        if isinstance(read, NexusError):
            raise read
        document = self._session.parse(paths.SESSION[number], read)
        return None if document is None else document.value


def _read_or_error(state: Folder | None, name: str) -> bytes | NexusError | None:
    try:
        return _read_bytes(state, name)
    except NexusError as error:
        return error


def _comparable(read: bytes | NexusError | None) -> bytes | str | None:
    return str(read) if isinstance(read, NexusError) else read


def _read_bytes(state: Folder | None, name: str) -> bytes | None:
    return None if state is None else state.read(name, journal.SESSION_LIMIT)
