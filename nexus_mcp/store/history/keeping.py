"""Adds lines to the texts in the cache while a search makes them."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress

from nexus_mcp.store import atomic, ranges
from nexus_mcp.store.history import identity
from nexus_mcp.store.opening import let_go

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.store.history.cache import Cache
    from nexus_mcp.store.history.index import Index


class Keeper:
    """Takes the lines of the cycles of `index` that have none yet. Close it.

    `fd` is the file of texts `name`, with the lines that `index` knows and nothing else, and `checksum` is theirs. Once
    a line could not be written the others are taken and forgotten.
    """

    __slots__ = ("_bytes", "_cache", "_checksum", "_failed", "_fd", "_index", "_is_new", "_name", "_sizes", "_waiting")

    def __init__(self, cache: Cache, index: Index, name: str, fd: int, checksum: int) -> None:
        self._cache = cache
        self._index = index
        self._name, self._fd, self._checksum = name, fd, checksum
        self._is_new = name != index.texts
        self._sizes: list[int] = []
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._failed = False

    def add(self, line: bytes) -> None:
        """One more."""
        self._sizes.append(len(line))
        self._waiting.append(line)
        self._bytes += len(line)
        if self._bytes >= ranges.CHUNK:
            self._write()

    def copy(self, size: int) -> None:
        """Begin with the first `size` bytes of the texts of the index. Raises one of cache.UNUSABLE."""
        source = self._cache.texts(self._index.texts) if size else -1
        try:
            for at in range(0, size, ranges.CHUNK):
                data = ranges.read(source, at, min(size, at + ranges.CHUNK))
                atomic.write_all(self._fd, data)
                self._checksum = zlib.crc32(data, self._checksum)
        finally:
            if size:
                let_go(source)

    def finish(self, keep: Callable[[Index], bool]) -> None:
        """Let `keep` have what the index becomes with the lines; it says whether the cache has that now."""
        self._write()
        if self._failed:
            return
        with suppress(OSError):
            identity.set_apart(self._fd)  # else the next searches would have to check all of it again
        index = self._index.copy()
        for size in self._sizes:
            index.add_line(size)
        index.texts, index.checked, index.checksum = self._name, index.lines_end, self._checksum
        if keep(index):
            self._is_new = False

    def close(self) -> None:
        """Must be called at last. A new file of texts that no index names goes again: it would only fill the disk."""
        let_go(self._fd)
        if self._is_new:
            self._cache.remove(self._name)

    def _write(self) -> None:
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        if not self._failed:
            try:
                atomic.write_all(self._fd, data)
                self._checksum = zlib.crc32(data, self._checksum)
            except OSError:
                self._failed = True
                if self._is_new:
                    self._cache.remove(self._name)


def begun(cache: Cache, index: Index) -> Keeper | None:
    """What keeps the lines that `index` has not; None where nothing is kept. Raises one of cache.UNUSABLE.

    It adds to the file that `index` names. Where that has more, for somebody adds to it or died of it, or since there
    were more cycles, it is copied: bytes that some index speaks of are not written over.
    """
    size = index.lines_end
    if size and index.checked == size and fcntl is not None:
        fd = cache.texts(index.texts, os.O_RDWR)
        try:
            if _is_ours(fd, size):
                os.lseek(fd, size, os.SEEK_SET)
                return Keeper(cache, index, index.texts, fd, index.checksum)
        except BaseException:
            let_go(fd)
            raise
        let_go(fd)
    made = cache.new_texts()
    if made is None:
        return None
    name, fd = made
    keeper = Keeper(cache, index, name, fd, 0)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        keeper.copy(size)
    except BaseException:
        keeper.close()
        raise
    return keeper


def _is_ours(fd: int, size: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(fd).st_size == size
