"""The session files as this process parsed and checked them last, kept by all of their bytes.

Each look reads the whole file and compares; only parsing and checking are saved. Times, sizes and inodes may be the
same for two contents, bytes are not: so nothing here can be stale, whoever wrote meanwhile, by whatever means.
"""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp import schemas
from nexus_mcp.errors import NexusError
from nexus_mcp.store import journal, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.session.document import Document

MOST = 16 << 20
"""Bytes of a file beyond which it is read anew each time: its values take ten times as much."""


class Kept:
    """The documents of one workspace, by name. Each is put in its place whole, so threads need no lock."""

    __slots__ = ("_documents",)

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def read(self, state: Folder | None, name: str) -> Document | None:
        """plan.json or tasks.json as it is now, None when absent. Raises StateError, PathRefused, StorageError."""
        data = None if state is None else state.read(name, journal.SESSION_LIMIT)
        if data is None:
            self._documents.pop(name, None)
            return None
        from nexus_mcp.store.session import reading  # not at the start

        known = self._documents.get(name)
        found = reading.read(name, data, known)
        if found is not known:
            self._keep(found)
        return found

    def made(self, name: str, before: Document | None, value: dict[str, Any]) -> Document:
        """The document that `value` makes of the one `before`. Raises ValueError and Invalid as writing.composed does.

        It is known before it is written, and even if it never is.
        """
        from nexus_mcp.store.session import writing

        made = writing.composed(name, before, value)
        self._keep(made)
        return made

    def prepare(self, state: Folder | None) -> None:
        """Come to know the files, as far as they can be read, where this process knows the layout of none of them yet.

        For who has time: with the lock in hand that would keep all others waiting.
        """
        if any(known.is_ours for known in self._documents.values()):
            return
        from nexus_mcp.store.session import writing
        from nexus_mcp.store.session.document import KINDS

        for name in places.SESSION:
            schemas.readable(KINDS[name].schema).keeps(None)
            with suppress(NexusError, ValueError):  # what is wrong is told by whoever reads it
                found = self.read(state, name)
                if found is not None:
                    found = writing.recognised(found)
                    found.mark()
                    self._keep(found)

    def _keep(self, document: Document) -> None:
        if len(document.data) <= MOST:
            self._documents[document.kind.name] = document
        else:
            self._documents.pop(document.kind.name, None)
