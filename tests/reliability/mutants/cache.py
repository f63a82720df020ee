"""Faults in the index of a long history: its checks, its growth, and the copy of the history."""

from __future__ import annotations

import os
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from nexus_mcp.store import atomic, journal
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history import NAME, archive, identity, texts
from nexus_mcp.store.history import index as history_index
from nexus_mcp.store.history.append import Growth
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.history.cache import Cache
from nexus_mcp.store.history.index import Index
from nexus_mcp.store.history.memory import Memory
from nexus_mcp.store.transaction import Transaction
from tests.reliability.mutants.definition import Mutant


def _known_by_size() -> tuple[Any, str, Any]:
    return identity, "of", lambda info: (0, 0, info.st_size, 0, 0)


def _always_settled() -> tuple[Any, str, Any]:
    return identity, "is_settled", lambda seen: True


def _apart_presumed() -> tuple[Any, str, Any]:
    return identity, "set_apart", lambda fd: True


def _prefix_believed() -> tuple[Any, str, Any]:
    def same(fd: int, size: int, known: Index) -> int:
        return sum(known.span(number)[1] <= size for number in range(len(known)))

    return archive, "_same", same


def _index_unchecked() -> tuple[Any, str, Any]:
    return history_index, "zlib", SimpleNamespace(crc32=lambda *_: 0)


def _texts_unchecked() -> tuple[Any, str, Any]:
    real = texts.search_cached

    def found(kept: Cache, index: Index, wanted: bytes, _: Any) -> Any:
        with patch.object(texts, "zlib", SimpleNamespace(crc32=lambda *_: index.checksum)):
            return real(kept, index, wanted, ((), 0, 0))

    return texts, "search_cached", found


def _remembered_for_ever() -> tuple[Any, str, Any]:
    real = archive.find_index

    def find(fd: int, kept: Cache | None, memory: Memory) -> tuple[Index, bool] | None:
        return real(fd, kept, memory) if memory.index is None else (memory.index, False)

    return archive, "find_index", find


def _has_by_time() -> tuple[Any, str, Any]:
    return Archive, "has", lambda self, cycle: bool(self.index.ended_at(cycle["completed_at"]))


class _Blind(Growth):
    """A cache that reads nothing but its own writes."""

    __slots__ = ()

    def _finish(self, fd: int) -> None:
        with suppress(OSError):
            self._is_apart = identity.set_apart(fd)
        self._made = os.fstat(fd)

    def is_current(self) -> bool:
        return True


def _copied_blindly() -> tuple[Any, str, Any]:
    return Transaction, "growth", lambda self: _Blind(self.history, self.cycle)


def _grown_too_early() -> tuple[Any, str, Any]:
    real = journal._apply_cycle

    def apply(nexus: Folder, state: Folder, cycle: dict[str, Any], growth: Growth | None, made: str) -> None:
        if growth is not None and nexus.check_plain(NAME):
            fd = nexus.open(NAME, os.O_RDONLY)
            growth._made = os.fstat(fd)
            growth._tail = identity.tail(fd, growth._made.st_size)
            os.close(fd)
            growth.add_to_index()
        real(nexus, state, cycle, growth, made)

    return journal, "_apply_cycle", apply


def _copied_unsynced() -> tuple[Any, str, Any]:
    real = atomic.prepare

    def prepare(folder: Folder, parts: Any, *others: Any, **named: Any) -> str:
        known = list(parts)
        if not any(map(callable, known)):
            return real(folder, known, *others, **named)
        with patch.object(atomic, "_sync", lambda fd: None):
            return real(folder, known, *others, **named)

    return atomic, "prepare", prepare


MUTANTS = (
    Mutant("known-by-size", "A history of the same size counts as the one that was read.", _known_by_size),
    Mutant("always-settled", "A file written within the same tick of the clock counts as the same.", _always_settled),
    Mutant("apart-presumed", "A file that was just written counts as settled, whatever its time.", _apart_presumed),
    Mutant("prefix-believed", "Known cycles are not compared with the present bytes of the file.", _prefix_believed),
    Mutant("index-unchecked", "The checksum of an index is not checked.", _index_unchecked),
    Mutant("texts-unchecked", "The checksum of the texts is not checked.", _texts_unchecked),
    Mutant("remembered-for-ever", "A server answers from the index that it read first.", _remembered_for_ever),
    Mutant("has-by-time", "A cycle counts as recorded if another cycle has the same completed_at.", _has_by_time),
    Mutant("copied-blindly", "A foreign change of a history while it is copied is overwritten.", _copied_blindly),
    Mutant("grown-too-early", "The index lists a cycle whose write into the history failed.", _grown_too_early),
    Mutant("copied-unsynced", "A history that was copied is not synced before its rename.", _copied_unsynced),
)
