"""history.json as one call sees it: its cycles by their numbers, from 0 and oldest first."""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.state import times
from nexus_mcp.store import ranges
from nexus_mcp.store.history import EMPTY, LIMIT, NAME, SHOWN, finding
from nexus_mcp.store.history.cache import Cache
from nexus_mcp.store.history.frame import Frame
from nexus_mcp.store.history.index import STAMP, Index
from nexus_mcp.store.history_file import canonical
from nexus_mcp.store.opening import let_go, reason
from nexus_mcp.store.permissions import Permissions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Any, Self

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.memory import Memory

_TRIES = 5
_CHANGED = "it was changed meanwhile"


class Archive:
    """The history in the folder `nexus` as it is now. Close it, or use it in `with`.

    `state` is where its cache may lie, `memory` what this process remembers. Raises StateError when there is something
    else than a history, PathRefused, StorageError.
    """

    __slots__ = ("_memory", "_state", "cache", "fd", "index", "nexus")

    def __init__(self, nexus: Folder | None, state: Folder | None, memory: Memory) -> None:
        self.nexus = nexus
        self._state = state
        self._memory = memory
        self.cache: Cache | None = None
        self.fd: int | None = None
        self.index = Index()
        self.index.opening, self.index.closing = EMPTY.index("[") + 1, EMPTY.index("]")
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
        """Let go of the file: nothing is read any more. Windows replaces none that is open."""
        if self.fd is not None:
            let_go(self.fd)
            self.fd = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def version(self) -> dict[str, Any]:
        """The file's `schema_version` in an object of its own, which is empty when the file has none."""
        return self.index.version

    @property
    def highest_plan_id(self) -> int:
        """The highest id of an archived plan, 0 when none has one."""
        return self.index.highest

    def cycle(self, number: int) -> dict[str, Any]:
        """One cycle, parsed. Raises StorageError when the file was changed since."""
        assert self.fd is not None
        try:
            found = Frame().element(ranges.read(self.fd, *self.index.span(number)).decode(), 0, first=True)
        except (OSError, ValueError, RecursionError) as error:
            raise self.changed() from error
        if found is None or not isinstance(found[0], dict):
            raise self.changed()
        return found[0]

    def cycles(self, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Those cycles, one after the other. Raises as `cycle` does."""
        return map(self.cycle, numbers)

    def free_time(self, now: str) -> str:
        """The `completed_at` of a new cycle: `now`, a stamp, or the next millisecond that no cycle has.

        No other date counts: a cycle of another harness may be dated in the future. Reads the index alone.
        """
        return times.first_free(now, self.index.stamps()) if self.index.has_stamp(now) else now

    def ended_at(self, completed_at: str) -> list[dict[str, Any]]:
        """The cycles that have this `completed_at`, the newest first: one, unless somebody else wrote them."""
        return list(self._ended_at(completed_at))

    def has(self, cycle: dict[str, Any]) -> bool:
        """Whether an equal cycle is there, as JSON values: member order does not matter, 1, 1.0 and true differ."""
        wanted = canonical(cycle)
        return any(canonical(old) == wanted for old in self._ended_at(cycle["completed_at"]))

    def newest_times(self, most: int) -> list[str]:
        """Each `completed_at` that is a text, of the `most` newest cycles, the newest first."""
        numbers = reversed(range(max(0, len(self) - most), len(self)))
        found = (self.index.stamp(number) or self.cycle(number).get("completed_at") for number in numbers)
        return [time for time in found if isinstance(time, str)]

    def matches(self, query: str) -> list[int]:
        """The numbers of the cycles whose JSON text has `query`, case aside (spelling.py says what that text is).

        Raises StorageError.
        """
        from nexus_mcp.store.history.searching import search  # what needs no words does without it

        return search(self, query, self._memory)

    def remember(self, index: Index) -> None:
        """Go on with another index of the same file, in the next call too."""
        self._memory.index = self.index = index

    def put(self, index: Index) -> bool:
        """Remember `index` for the next call, of whatever file, and keep it in the cache; whether it is kept there."""
        self._memory.index = index
        return self.cache is not None and self.cache.save(index)

    def changed(self) -> StorageError:
        """For a file that is not what the index says, although it seemed to be."""
        self._memory.index = None
        if self.cache is not None:
            self.cache.forget()
        return StorageError(SHOWN, "read", _CHANGED, next_step="Call again.")

    def _ended_at(self, completed_at: str) -> Iterator[dict[str, Any]]:
        known = len(completed_at) == STAMP and completed_at.isascii()
        numbers = reversed(self.index.ended_at(completed_at) if known else range(len(self)))
        return (old for old in self.cycles(numbers) if old.get("completed_at") == completed_at)

    def _open(self) -> None:
        for _ in range(_TRIES):
            self.fd = None if self.nexus is None else _opened(self.nexus)
            if self.fd is None:
                return
            info = os.fstat(self.fd)
            if self._state is not None and info.st_size >= finding.CACHED_FROM:
                self.cache = self.cache or Cache(self._state, Permissions(info))
            found = finding.find(self.fd, self.cache, self._memory)
            if found is not None:
                self.index, is_new = found
                if is_new:
                    self.put(self.index)
                return
            self.release()
        raise StorageError(SHOWN, "read", _CHANGED, next_step="Call again.")


def _opened(nexus: Folder) -> int | None:
    """A descriptor of the history, None when there is none. Raises OSError, PathRefused, StateError."""
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
        let_go(fd)
        raise
    return fd
