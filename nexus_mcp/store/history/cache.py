"""Cache the index and the search texts of history.json on disk, in the folder `cache` of `.nexus/state` (the board uses
another folder): derived data, never required, and safe to delete at any time.

`history.index` is replaced as a whole and names the file with the search texts (texts.py). Bytes to which an index
refers are never overwritten, so readers and writers can work at the same time.

Nothing is synced. After a power cut these files may contain anything, so the index holds a checksum of itself and of
the texts. It also records the device and inode of its own file: an index that came with a clone or a copy is ignored.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Copy, bits_for, close_fd, reason
from nexus_mcp.store.history import index as history_index

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed: no texts are cached
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.index import Index

FOLDER = "cache"
NAME = "history.index"
_NEW = ".new"
_FOR_OTHERS = stat.S_IRGRP | stat.S_IROTH
_MADE = os.O_RDWR | os.O_CREAT | os.O_EXCL
UNUSABLE = (OSError, NexusError, ValueError, KeyError, TypeError, RecursionError)
"""Errors that the use of the cache may raise, also because any program may have changed its files."""
_warned: set[str] = set()


class Cache:
    """The cache, a folder in the folder `state`. The first use opens it; `close` closes it.

    `source` is the stat of the history: only users that may read the history may read the files of the cache.
    """

    __slots__ = ("_copy", "_folder", "_source", "_state")

    def __init__(self, state: Folder, source: os.stat_result) -> None:
        self._state = state
        self._source = source
        self._copy = Copy([source], private=False)
        self._folder: Folder | None = None

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def load(self) -> Index | None:
        """Return the index in the cache, which may be of another history; None if there is no usable index."""
        try:
            folder = self._open_folder(make=False)
            return None if folder is None else _load(folder)
        except UNUSABLE:
            return None

    def save(self, index: Index) -> bool:
        """Replace the index in the cache by `index`, and remove unused files if possible; return False on an error."""
        try:
            folder = self._open_folder(make=True)
            if folder is not None:
                _save(folder, index, self._copy)
                _sweep(folder, index.texts)
        except UNUSABLE as error:
            _warn(error)
            return False
        return folder is not None

    def forget(self) -> None:
        """Remove the index, because it turned out not to match the history. Never raises."""
        with suppress(*UNUSABLE):
            folder = self._open_folder(make=False)
            if folder is not None:
                folder.unlink(NAME)

    def texts(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor of the file of texts `name`. Raise OSError, NexusError; ValueError for a file that has
        hard links, is no plain file, or can be read by more users than the history.
        """
        folder = self._open_folder(make=False)
        if folder is None or not history_index.is_name(name):
            raise FileNotFoundError(2, "there is no such file of texts")
        fd = _plain(folder, name, flags)
        info = os.fstat(fd)
        if info.st_mode & _FOR_OTHERS & ~bits_for(self._source, info.st_gid):
            close_fd(fd)
            raise ValueError("more users may read it than the history")
        return fd

    def new_texts(self) -> tuple[str, int] | None:
        """Return (name, descriptor) of a new file of texts, None on Windows. Raise OSError, NexusError."""
        folder = self._open_folder(make=True) if fcntl is not None else None
        if folder is None:
            return None
        name = history_index.name_of(os.urandom(8).hex())
        return name, folder.open(name, _MADE, self._copy)

    def remove(self, name: str) -> None:
        """Remove the file of texts `name`, which no index names, if the cache is open. Ignore OSError."""
        if self._folder is not None:
            with suppress(OSError):
                self._folder.unlink(name)

    def _open_folder(self, *, make: bool) -> Folder | None:
        if self._folder is None:
            self._folder = self._state.make(FOLDER)[0] if make else self._state.child(FOLDER)
        return self._folder


def remove(state: Folder) -> None:
    """Remove the cache from the folder `state`, which no other process uses yet; files of other programs stay.

    Raise OSError, NexusError.
    """
    folder = state.child(FOLDER)
    if folder is not None:
        with folder:
            for name in folder.names():
                if name == NAME or name.startswith("history-"):
                    folder.unlink(name)
        state.remove_folder(FOLDER)


def _load(folder: Folder) -> Index:
    fd = _plain(folder, NAME, os.O_RDONLY)
    try:
        info = os.fstat(fd)
        header = atomic.read_range(fd, 0, history_index.HEADER.size)
        head = history_index.HEADER.size + history_index.sizes(header, info.st_size, info.st_dev, info.st_ino)
        if info.st_size > history_index.MOST:
            raise ValueError("it is too large")
        return history_index.from_bytes(
            header, atomic.read_range(fd, len(header), head), atomic.read_range(fd, head, info.st_size)
        )
    finally:
        close_fd(fd)


def _save(folder: Folder, index: Index, copy: Copy) -> None:
    temporary = f"history-{os.urandom(8).hex()}{_NEW}"
    fd = folder.open(temporary, _MADE, copy)
    try:
        try:
            info = os.fstat(fd)
            atomic.write_all(fd, history_index.to_bytes(index, info.st_dev, info.st_ino))
        finally:
            close_fd(fd)
        folder.rename(temporary, NAME)
    except BaseException:
        with suppress(OSError):
            folder.unlink(temporary)
        raise


def _sweep(folder: Folder, texts: str) -> None:
    """Remove unused files that have names of the cache. A file of texts that a process is writing is locked and stays.
    Files with other names may belong to a harness.
    """
    for name in folder.names():
        if name != texts and (history_index.is_name(name) or (name.startswith("history-") and name.endswith(_NEW))):
            with suppress(*UNUSABLE):
                fd = _plain(folder, name, os.O_RDONLY)
                try:
                    if fcntl is not None:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    folder.unlink(name)
                finally:
                    close_fd(fd)


def _plain(folder: Folder, name: str, flags: int) -> int:
    """Open a plain file without hard links; return its descriptor. Raise OSError, NexusError, ValueError."""
    fd = folder.open(name, flags)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
        close_fd(fd)
        raise ValueError("it must be a plain file without hard links")
    return fd


def _warn(error: Exception) -> None:
    """Log each error of the cache once, but no FileNotFoundError, which another process may cause by removing a file.

    All calls work without a cache.
    """
    text = reason(error) if isinstance(error, OSError) else str(error)
    if text not in _warned and not isinstance(error, FileNotFoundError):
        _warned.add(text)
        log.warning(f"the history is read without its cache, .nexus/state/{FOLDER}: {text}")
