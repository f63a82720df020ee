"""Faults in the cached session files of a server: stale values are used, or mixed with new ones."""

from __future__ import annotations

from typing import Any

from nexus_mcp.state.rows import Rows
from nexus_mcp.store import session
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.session import Document, SessionCache
from tests.reliability.mutants.definition import Mutant


def _same_size() -> tuple[Any, str, Any]:
    real = session.read

    def read(name: str, data: bytes, known: Document | None = None) -> Document:
        return known if known is not None and len(known.data) == len(data) else real(name, data, known)

    return session, "read", read


def _never_again() -> tuple[Any, str, Any]:
    real = SessionCache.read

    def read(self: SessionCache, state: Folder | None, name: str) -> Document | None:
        known = self._documents.get(name)
        return real(self, state, name) if known is None else known

    return SessionCache, "read", read


def _row_too_many() -> tuple[Any, str, Any]:
    real = session._rows_by_text

    def rows_by_text(known: Document, data: bytes) -> Rows | None:
        found, before = real(known, data), known.value[known.kind.rows]
        return before if found is not None and len(found) == len(before) else found

    return session, "_rows_by_text", rows_by_text


MUTANTS = (
    Mutant("same-size", "A file of the same size counts as unchanged.", _same_size),
    Mutant("never-again", "A file that was read once is not read again.", _never_again),
    Mutant("row-too-many", "A changed row of a file keeps its old value.", _row_too_many),
)
