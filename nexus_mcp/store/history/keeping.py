"""Adds lines to the texts in the cache while a search makes them."""

from __future__ import annotations

import os
import zlib

from nexus_mcp.store import atomic, ranges
from nexus_mcp.store.folder import let_go
from nexus_mcp.store.history import cache

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.index import Index

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL


class Keeper:
    """Takes the lines of the cycles of `index` that have none yet. Close it. Raises OSError, NexusError.

    Once it could not write a line it takes the others and forgets them.
    """

    __slots__ = ("_bytes", "_checksum", "_fd", "_index", "_name", "_sizes", "_waiting", "error")

    def __init__(self, folder: Folder, index: Index) -> None:
        self._index = index
        self._name, self._fd = _to_append(folder, index)
        self._checksum = index.checksum
        self._sizes: list[int] = []
        self._waiting: list[bytes] = []
        self._bytes = 0
        self.error: OSError | None = None

    def add(self, line: bytes) -> None:
        """One more."""
        self._sizes.append(len(line))
        self._waiting.append(line)
        self._bytes += len(line)
        if self._bytes >= ranges.CHUNK:
            self._write()

    def finish(self) -> Index:
        """What the index becomes with the lines; as it was when they could not be written."""
        self._write()
        if self.error is not None:
            return self._index
        index = self._index.copy()
        for size in self._sizes:
            index.add_line(size)
        index.texts, index.checksum = self._name, self._checksum
        return index

    def close(self) -> None:
        """Must be called at last."""
        let_go(self._fd)

    def _write(self) -> None:
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        if self.error is None:
            try:
                atomic.write_all(self._fd, data)
                self._checksum = zlib.crc32(data, self._checksum)
            except OSError as error:
                self.error = error


def _to_append(folder: Folder, index: Index) -> tuple[str, int]:
    """(name, descriptor) of a file that has the lines that `index` knows and nothing else, at its end, held by us.

    Where somebody else has added to it, or is about to, it is a new one.
    """
    size = index.line_end(index.lined - 1) if index.lined else 0
    old = folder.open(index.texts, os.O_RDWR) if size else None
    try:
        if old is not None and _is_ours(old, size):
            os.lseek(old, size, os.SEEK_SET)
            kept, old = old, None
            return index.texts, kept
        name = f"history-{os.urandom(8).hex()}{cache.SUFFIX}"
        new = folder.open(name, _NEW, cache.OWN)
        try:
            fcntl.flock(new, fcntl.LOCK_EX)
            if old is not None:
                ranges.copy(old, new, size)
        except BaseException:
            let_go(new)
            raise
        return name, new
    finally:
        if old is not None:
            let_go(old)


def _is_ours(fd: int, size: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(fd).st_size == size
