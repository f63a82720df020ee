"""Finds the index of a history.json: in memory, in the cache, by what was added to it, or by reading all of it."""

from __future__ import annotations

import os

from nexus_mcp.store import ranges
from nexus_mcp.store.history import building, identity, trouble
from nexus_mcp.store.history.index import NO_DIGEST, Index, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    from nexus_mcp.store.history.cache import Cache
    from nexus_mcp.store.history.identity import Identity
    from nexus_mcp.store.history.memory import Memory

CACHED_FROM = 256 << 10
"""Bytes. A shorter history is read again, in a few milliseconds, by each process: it leaves no file behind."""


def find(fd: int, cache: Cache | None, memory: Memory) -> tuple[Index, bool] | None:
    """(the index of the history `fd`, whether it was made just now); None when that changed while it was read.

    Raises StateError for one that is no history, OSError.
    """
    seen = identity.of(os.fstat(fd))
    try:
        tail = identity.tail(fd, seen[2])
    except ranges.Shrunk:
        return None
    if _is_of(memory.index, seen, tail):
        return memory.index, False
    kept = cache.load() if cache is not None else None
    if _is_of(kept, seen, tail):
        memory.index = kept
        return kept, False
    settled = identity.is_settled(seen)
    try:
        index = _made(fd, seen[2], kept or memory.index)
    except ranges.Shrunk:
        return None
    except building.Unreadable as error:
        trouble.explain(fd, seen[2], error)
        return None
    now = identity.of(os.fstat(fd))
    if not identity.is_as_read(seen, now):
        return None
    # Somebody may have given its name to another file: then it is what it was, and good for this call.
    index.identity, index.settled, index.tail = seen, settled and now == seen, tail
    memory.index = index
    return index, True


def _is_of(index: Index | None, seen: Identity, tail: int) -> TypeGuard[Index]:
    return index is not None and index.settled and index.identity == seen and index.tail == tail


def _made(fd: int, size: int, known: Index | None) -> Index:
    digests = size >= CACHED_FROM
    if known is not None:
        count = _same(fd, size, known)
        if count:
            try:
                return building.build(fd, size, digests=digests, known=known.beginning(count))
            except building.Unreadable:
                pass  # as for any other: it may be what was before the cycles that changed
    return building.build(fd, size, digests=digests)


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
            wanted = max(end, min(size, at + ranges.CHUNK))
            data += ranges.read(fd, at + len(data), wanted)
        mark = known.digest(number)
        if mark == NO_DIGEST or digest(data[begin - at : end - at]) != mark:
            return number
        begin = end
    return len(known)
