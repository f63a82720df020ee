"""Find the index of history.json: in memory, in the cache, by what was appended to it, or by parsing the file."""

from __future__ import annotations

import os

from nexus_mcp.store import atomic
from nexus_mcp.store.history import identity, parse
from nexus_mcp.store.history.index import NO_DIGEST, Index, digest

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nexus_mcp.store.history.index import Index

    Verified = tuple[tuple[str | int, ...], int, int]
    from typing import TypeGuard

    from nexus_mcp.store.history.cache import Cache
    from nexus_mcp.store.history.identity import Identity

UNVERIFIED: Verified = ((), 0, 0)


class Memory:
    """`index` is the newest that was found. `short` are the lines (texts.py) of a short history and the index they are
    of; of a long one `verified` says how much of which file of texts was seen to be whole: (identity, bytes, checksum).

    Each is put in its place whole: threads may share it.
    """

    __slots__ = ("index", "short", "verified")

    def __init__(self) -> None:
        self.index: Index | None = None
        self.short: tuple[Index | None, list[bytes]] = (None, [])
        self.verified = UNVERIFIED


CACHE_FROM_BYTES = 256 << 10
"""Bytes. A shorter history is read again, in a few milliseconds, by each process: it leaves no file behind."""


def find(fd: int, cache: Cache | None, memory: Memory) -> tuple[Index, bool] | None:
    """(the index of the history `fd`, whether it was made just now); None when that changed while it was read.

    Raises StateError for one that is no history, OSError.
    """
    seen = identity.of(os.fstat(fd))
    try:
        tail = identity.tail(fd, seen[2])
    except atomic.Shrunk:
        return None
    if _is_of(memory.index, seen, tail):
        return memory.index, False
    kept = cache.load() if cache is not None else None
    if _is_of(kept, seen, tail):
        memory.index = kept
        return kept, False
    settled = identity.is_settled(seen)
    try:
        index = _build(fd, seen[2], kept or memory.index)
    except atomic.Shrunk:
        return None
    except parse.Unreadable as error:
        parse.explain(fd, seen[2], error)
        return None
    now = identity.of(os.fstat(fd))
    if not identity.is_as_read(seen, now):
        return None
    # Its name may belong to another file by now: the index is that of the file read, and good for this call.
    index.identity, index.settled, index.tail = seen, settled and now == seen, tail
    memory.index = index
    return index, True


def _is_of(index: Index | None, seen: Identity, tail: int) -> TypeGuard[Index]:
    return index is not None and index.settled and index.identity == seen and index.tail == tail


def _build(fd: int, size: int, known: Index | None) -> Index:
    digests = size >= CACHE_FROM_BYTES
    if known is not None:
        count = _same(fd, size, known)
        if count:
            try:
                return parse.build(fd, size, digests=digests, known=known.beginning(count))
            except parse.Unreadable:
                pass  # as for any other: it may be what was before the cycles that changed
    return parse.build(fd, size, digests=digests)


def _same(fd: int, size: int, known: Index) -> int:
    """How many cycles the file still begins with, byte for byte, at the same place."""
    begin, data, at = known.opening, b"", known.opening
    for number in range(len(known)):
        _, end = known.span(number)
        if end > size:
            return number
        if end > at + len(data):
            data = data[begin - at :]
            at = begin
            wanted = max(end, min(size, at + atomic.CHUNK))
            data += atomic.read_range(fd, at + len(data), wanted)
        mark = known.digest(number)
        if mark == NO_DIGEST or digest(data[begin - at : end - at]) != mark:
            return number
        begin = end
    return len(known)
