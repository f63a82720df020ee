"""Which cycles have a word in their text."""

from __future__ import annotations

from nexus_mcp.store.history import finding, texts
from nexus_mcp.store.history.cache import UNUSABLE
from nexus_mcp.store.history.keeping import Keeper, begun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.store.history.index import Index
    from nexus_mcp.store.history.memory import Memory


def search(archive: Archive, query: str, memory: Memory) -> list[int]:
    """The numbers of the cycles whose text has `query`, case aside. Raises StorageError."""
    try:
        wanted = query.lower().encode()
    except UnicodeEncodeError:
        return []
    if archive.fd is None or b"\n" in wanted:  # JSON has no newline within a string, and the text has none elsewhere
        return []
    try:
        if archive.index.closing < finding.CACHED_FROM:
            return _short(archive, wanted, memory)
        found = _stored(archive, wanted, memory)
        return found + _unstored(archive, wanted)
    except (OSError, ValueError, RecursionError) as error:
        raise archive.changed() from error


def _short(archive: Archive, wanted: bytes, memory: Memory) -> list[int]:
    assert archive.fd is not None
    index, lines = memory.short
    if index is not archive.index:
        lines = list(texts.lines(archive.fd, archive.index, 0))
        memory.short = archive.index, lines
    return [number for number, line in enumerate(lines) if wanted in line]


def _stored(archive: Archive, wanted: bytes, memory: Memory) -> list[int]:
    """Those of the cycles whose texts are in the cache. `archive` has an index without texts when they are spoilt."""
    if archive.index.lined < len(archive):
        _catch_up(archive)
    for again in (True, False):
        index, cache = archive.index, archive.cache
        if not index.lined:
            break
        try:
            if cache is None:
                raise texts.Spoilt
            found, memory.verified = texts.stored(cache, index, wanted, memory.verified)
        except texts.Spoilt:
            # Whoever began another file of texts has removed this one.
            if not (again and _catch_up(archive)):
                archive.index = index.copy()
                archive.index.without_lines()
        else:
            return found
    return []


def _catch_up(archive: Archive) -> bool:
    """Take the index from the cache when that is of the same file and has other texts, or more; whether it has."""
    mine, theirs = archive.index, None if archive.cache is None else archive.cache.load()
    if theirs is None or not theirs.settled or (theirs.identity, theirs.tail) != (mine.identity, mine.tail):
        return False
    if (theirs.texts, theirs.lined) == (mine.texts, mine.lined):
        return False
    archive.remember(theirs)
    return True


def _unstored(archive: Archive, wanted: bytes) -> list[int]:
    """Those of all others, whose texts are made, and kept where they can be."""
    index = archive.index
    if index.lined == len(index):
        return []
    assert archive.fd is not None
    keeper = _keeper(archive, index)
    found = []
    try:
        for number, line in enumerate(texts.lines(archive.fd, index, index.lined), index.lined):
            if wanted in line:
                found.append(number)
            if keeper is not None:
                keeper.add(line)
        if keeper is not None:
            keeper.finish(archive.put)
    finally:
        if keeper is not None:
            keeper.close()
    return found


def _keeper(archive: Archive, index: Index) -> Keeper | None:
    try:
        return None if archive.cache is None else begun(archive.cache, index)
    except UNUSABLE:
        return None
