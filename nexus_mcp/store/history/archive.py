"""Give one call its view of history.json: cycles by number, from 0 and oldest first, and a search through them.

The index comes from memory or from the cache, or from a parse of the file or of its new part.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.state import times
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import close_fd, reason
from nexus_mcp.store.history import EMPTY, LIMIT, NAME, SHOWN, identity, parse, texts
from nexus_mcp.store.history import index as history_index
from nexus_mcp.store.history.cache import UNUSABLE, Cache
from nexus_mcp.store.history.frame import Frame, canonical
from nexus_mcp.store.history.index import NO_DIGEST, STAMP, Index, digest
from nexus_mcp.store.history.memory import Memory
from nexus_mcp.store.history.texts import TextWriter, open_writer

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any, Self, TypeGuard, TypeVar

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.identity import Identity

    Found = TypeVar("Found")


_TRIES = 5
_CYCLES = Frame()  # a decoder for single cycles
_CHANGED = "it was changed meanwhile"


class Archive:
    """The present history in the folder `nexus`. Close it, or use it in `with`.

    `state` is the folder for its cache, `memory` the memory of this process. Raise StateError if the file is no
    history, PathRefused, StorageError.
    """

    __slots__ = ("_memory", "_state", "cache", "fd", "index", "nexus")

    def __init__(self, nexus: Folder | None, state: Folder | None, memory: Memory) -> None:
        self.nexus = nexus
        self._state = state
        self._memory = memory
        self.cache: Cache | None = None
        self.fd: int | None = None
        self.index: Index
        try:
            self._open()
        except OSError as error:
            self.close()
            raise StorageError(SHOWN, "read", reason(error)) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.release()
        if self.cache is not None:
            self.cache.close()

    def release(self) -> None:
        """Close the file; afterwards no cycle can be read. Windows cannot replace an open file."""
        if self.fd is not None:
            close_fd(self.fd)
            self.fd = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def version(self) -> dict[str, Any]:
        """Return {"schema_version": its value in the file}, or {} if the file has none."""
        return self.index.version

    @property
    def highest_plan_id(self) -> int:
        """Return the highest id of an archived plan, 0 if there is none."""
        return self.index.highest

    def cycle(self, number: int) -> dict[str, Any]:
        """Return one cycle, parsed. Raise StorageError if the file was changed since the index was made."""
        assert self.fd is not None
        try:
            found = _CYCLES.element(atomic.read_range(self.fd, *self.index.span(number)).decode(), 0, first=True)
        except (OSError, ValueError, RecursionError) as error:
            raise self.changed_error() from error
        if found is None or not isinstance(found[0], dict):
            raise self.changed_error()
        return found[0]

    def free_time(self, now: str) -> str:
        """Return the `completed_at` of a new cycle: `now`, a stamp, or the next millisecond that no cycle has.

        Other cycles may have later dates, even in the future. This reads only the index.
        """
        return times.first_free(now, self.index.stamps()) if self.index.has_stamp(now) else now

    def ended_at(self, completed_at: str) -> list[dict[str, Any]]:
        """Return the cycles with this `completed_at`, newest first: at most one, unless another program wrote some.

        Raise the errors of `cycle`.
        """
        return list(self._ended_at(completed_at))

    def has(self, cycle: dict[str, Any]) -> bool:
        """Return whether an equal cycle exists, compared as JSON values: the order of fields does not matter; 1, 1.0
        and true differ. Raise the errors of `cycle`.
        """
        wanted = canonical(cycle)
        return any(canonical(old) == wanted for old in self._ended_at(cycle["completed_at"]))

    def newest_times(self, most: int) -> list[str]:
        """Return each `completed_at` that is a text, of the `most` newest cycles, newest first. Raise the errors of
        `cycle`.
        """
        numbers = reversed(range(max(0, len(self) - most), len(self)))
        found = (self.index.stamp(number) or self.cycle(number).get("completed_at") for number in numbers)
        return [time for time in found if isinstance(time, str)]

    def matches(self, query: str) -> list[int]:
        """Return the numbers of the cycles whose JSON text (texts.normalize) has `query`, ignoring case.

        Raise StorageError.
        """
        return search(self, query, self._memory)

    def newest(self, query: str, most: int, make: Callable[[dict[str, Any]], Found]) -> tuple[int, list[Found]]:
        """Return (how many cycles match the query, all for ""; the results of `make` for the `most` newest of these,
        the newest last).

        Raise the errors of `matches` and `cycle`.
        """
        numbers = self.matches(query) if query else range(len(self.index))
        return len(numbers), [make(self.cycle(number)) for number in numbers[-most:]]

    def remember(self, index: Index) -> None:
        """Use another index of the same file from now on, in the next call too."""
        self._memory.index = self.index = index

    def put(self, index: Index) -> bool:
        """Remember `index`, of this or a newer file, and write it to the cache; return whether it is cached."""
        self._memory.index = index
        return self.cache is not None and self.cache.save(index)

    def changed_error(self) -> StorageError:
        """Forget the index, and return the error for a file that differs from it, although its identity is the same."""
        self._memory.index = None
        if self.cache is not None:
            self.cache.forget()
        return StorageError(SHOWN, "read", _CHANGED, next_step="Call again.")

    def _ended_at(self, completed_at: str) -> Iterator[dict[str, Any]]:
        known = len(completed_at) == STAMP and completed_at.isascii()
        numbers = reversed(self.index.ended_at(completed_at) if known else range(len(self)))
        return (old for old in map(self.cycle, numbers) if old.get("completed_at") == completed_at)

    def _open(self) -> None:
        for _ in range(_TRIES):
            self.fd = None if self.nexus is None else _open_history(self.nexus)
            if self.fd is None:
                self.index = Index()
                self.index.opening, self.index.closing = EMPTY.index("[") + 1, EMPTY.index("]")
                return
            info = os.fstat(self.fd)
            if self._state is not None and info.st_size >= history_index.CACHE_FROM_BYTES:
                self.cache = self.cache or Cache(self._state, info)
            found = find_index(self.fd, self.cache, self._memory)
            if found is not None:
                self.index, is_new = found
                if is_new:
                    self.put(self.index)
                return
            self.release()
        raise StorageError(SHOWN, "read", _CHANGED, next_step="Call again.")


def look(memory: Memory, at: Callable[[Archive], Found], nexus: Folder | None, state: Folder | None) -> Found:
    """Return the result of `at` for the history in these folders. Raise the errors of `Archive`."""
    with Archive(nexus, state, memory) as archive:
        return at(archive)


def _open_history(nexus: Folder) -> int | None:
    """Return a descriptor of history.json, None if absent. Raise OSError, PathRefused, StateError, StorageError."""
    try:
        fd = nexus.open(NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            nexus.check_plain(NAME)
            raise StorageError(SHOWN, "read", _CHANGED, next_step="Call again.")
        if info.st_size > LIMIT:
            raise StateError(SHOWN, f"is larger than the {LIMIT >> 20} MiB that are read")
    except BaseException:
        close_fd(fd)
        raise
    return fd


def search(archive: Archive, query: str, memory: Memory) -> list[int]:
    """Return the numbers of the cycles whose text has `query`, ignoring case. Raise StorageError."""
    try:
        wanted = query.lower().encode()
    except UnicodeEncodeError:
        return []
    if archive.fd is None or b"\n" in wanted:  # the texts contain no newline
        return []
    try:
        if archive.index.closing < history_index.CACHE_FROM_BYTES:
            return _short(archive, wanted, memory)
        found = _search_stored(archive, wanted, memory)
        return found + _search_unstored(archive, wanted)
    except (OSError, ValueError, RecursionError) as error:
        raise archive.changed_error() from error


def _short(archive: Archive, wanted: bytes, memory: Memory) -> list[int]:
    assert archive.fd is not None
    index, lines = memory.short
    if index is not archive.index:
        lines = list(texts.lines(archive.fd, archive.index, 0))
        memory.short = archive.index, lines
    return [number for number, line in enumerate(lines) if wanted in line]


def _search_stored(archive: Archive, wanted: bytes, memory: Memory) -> list[int]:
    """Return the numbers of the cycles whose text is in the cache and matches. If the texts are corrupt, `archive` gets
    an index without texts.
    """
    if archive.index.lined < len(archive):
        _catch_up(archive)
    for again in (True, False):
        index, cache = archive.index, archive.cache
        if not index.lined:
            break
        try:
            if cache is None:
                raise texts.CorruptTexts
            found, memory.verified = texts.search_cached(cache, index, wanted, memory.verified)
        except texts.CorruptTexts:
            # Perhaps another process began a new file of texts, and removed this one.
            if not (again and _catch_up(archive)):
                archive.index = index.copy()
                archive.index.without_lines()
        else:
            return found
    return []


def _catch_up(archive: Archive) -> bool:
    """Use the index from the cache if it is of the same file and has other texts; return whether it is used now."""
    mine, theirs = archive.index, None if archive.cache is None else archive.cache.load()
    if theirs is None or not theirs.settled or (theirs.identity, theirs.tail) != (mine.identity, mine.tail):
        return False
    if (theirs.texts, theirs.lined) == (mine.texts, mine.lined):
        return False
    archive.remember(theirs)
    return True


def _search_unstored(archive: Archive, wanted: bytes) -> list[int]:
    """Return the numbers of the matching cycles among those without a text in the cache. The texts of these cycles are
    made now, and cached if possible.
    """
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


def _keeper(archive: Archive, index: Index) -> TextWriter | None:
    try:
        return None if archive.cache is None else open_writer(archive.cache, index)
    except UNUSABLE:
        return None


def find_index(fd: int, cache: Cache | None, memory: Memory) -> tuple[Index, bool] | None:
    """Return (the index of the history `fd`, whether it was made just now); None if the file changed while it was read.

    Raise StateError for a file that is no history, OSError.
    """
    try:
        seen, tail = identity.read(fd)
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
    # The name history.json may belong to another file now. The index of the file that was read is valid for this call.
    index.identity, index.settled, index.tail = seen, settled and now == seen, tail
    memory.index = index
    return index, True


def _is_of(index: Index | None, seen: Identity, tail: int) -> TypeGuard[Index]:
    return index is not None and index.settled and index.identity == seen and index.tail == tail


def _build(fd: int, size: int, known: Index | None) -> Index:
    digests = size >= history_index.CACHE_FROM_BYTES
    if known is not None:
        count = _same(fd, size, known)
        if count:
            try:
                return parse.build(fd, size, digests=digests, known=known.beginning(count))
            except parse.Unreadable:
                pass  # parse it as a new file: the change may be before the cycles
    return parse.build(fd, size, digests=digests)


def _same(fd: int, size: int, known: Index) -> int:
    """Return how many cycles at the beginning of the file are unchanged, byte for byte and in place."""
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
