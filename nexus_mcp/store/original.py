"""Hold a file open as a change read it, and check whether the file on disk still is that one.

Inode, size and times reveal most saves, the bytes reveal all: within a tick of the clock a file can be written again,
in place, and look the same.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.folder import AT, close_fd, reason
from nexus_mcp.store.permissions import Permissions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import EllipsisType

    from nexus_mcp.store.folder import Folder

_CHUNK = 1 << 20


class ChangedMeanwhile(StorageError):
    """Another program saved, made or removed the file between our reading and our replacing it."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "replace",
            "another program keeps changing it",
            next_step="Find out which program writes to it (an editor, git, a script); call again when it is done.",
        )


class Original:
    """`data` are the bytes, None when there was no file, `...` where they are not known: then its end is compared.

    Holds the file open until nothing refers to this any more. To free what a replaced file took on the disk takes a
    fifth of the time of a short change, so that is left until the change was answered. `checksum` gives the CRC-32 of
    the bytes, where it is known already.
    """

    __slots__ = ("_end", "_fd", "_info", "_limit", "_seen", "checksum", "data", "is_foreign")

    def __init__(
        self,
        data: bytes | EllipsisType | None = None,
        fd: int | None = None,
        info: os.stat_result | None = None,
        limit: int = 0,
    ) -> None:
        self.data = data
        self.checksum: Callable[[], int] | None = None
        self.is_foreign = False
        self._fd = fd
        self._info = info
        self._limit = limit
        self._seen: os.stat_result | None = None
        self._end = _end(fd) if data is ... and fd is not None else None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            close_fd(self._fd)
            self._fd = None

    def content(self) -> bytes | None:
        """The bytes, of a file that was read whole; None when there was no file."""
        return None if self.data is ... else self.data

    @property
    def is_there(self) -> bool:
        """Whether there was a file."""
        return self._info is not None

    @property
    def names(self) -> int:
        """How many names the file had when it was read."""
        return 0 if self._info is None else self._info.st_nlink

    def is_file(self, folder: Folder, name: str) -> bool:
        """Whether `name` is a name of the file that was read. Raises StorageError."""
        seen = folder.look(name)
        return seen is not None and self._info is not None and os.path.samestat(seen, self._info)

    @property
    def permissions(self) -> Permissions | None:
        """Its permissions, None when there was no file."""
        return None if self._info is None else Permissions(self._info)

    def disown(self) -> None:
        """Take the file for what another program saved, which is to be kept whatever it holds."""
        self.is_foreign = True

    def check(self, folder: Folder, name: str) -> None:
        """Raises ChangedMeanwhile when the file is not what was read; PathRefused, StorageError."""
        seen = folder.look(name)
        if seen is None or self._info is None:
            if seen is None and self._info is None:
                return
            raise ChangedMeanwhile(folder.show(name))
        if _identity(seen) == _identity(self._info):
            return
        if self.data is ... or self.data is None:
            raise ChangedMeanwhile(folder.show(name))
        now = read(folder, name, self._limit)
        if now.data != self.data or _bits(now) != _bits(self):
            raise ChangedMeanwhile(folder.show(name))
        # The same bytes, saved again or touched: from now on this is the file that is held.
        now._fd, self._fd, self._info = self._fd, now._fd, now._info

    def is_at(self, folder: Folder, name: str) -> bool:
        """Whether the file that was read has this name now, with the same bytes. Raises OSError, StorageError."""
        seen, known = folder.look(name), self._info
        self._seen = seen
        if (
            seen is None
            or known is None
            or self.is_foreign
            or not os.path.samestat(seen, known)
            or seen.st_size != known.st_size
        ):
            return False
        return seen.st_mtime_ns == known.st_mtime_ns if self._fd is None else self.is_unwritten()

    @property
    def is_chmodded(self) -> bool:
        """Whether the file that `is_at` saw had other permissions, or another owner, than when it was read."""
        seen, known = self._seen, self._info
        if seen is None or known is None:
            return False
        return (seen.st_mode, seen.st_uid, seen.st_gid) != (known.st_mode, known.st_uid, known.st_gid)

    def is_unwritten(self) -> bool:
        """Whether the file that was read, whatever its name is now, has the same bytes. Raises OSError."""
        if self._fd is None or self._info is None:
            return True
        size, data = self._info.st_size, self.data
        if data is ... or data is None:
            return os.fstat(self._fd).st_mtime_ns == self._info.st_mtime_ns and _end(self._fd) == self._end
        if size <= _CHUNK:
            return atomic.read_at(self._fd, size + 1, 0) == data
        return os.fstat(self._fd).st_size == size and all(
            atomic.read_up_to(self._fd, at, _CHUNK) == data[at : at + _CHUNK] for at in range(0, size, _CHUNK)
        )

    def saved_since(self) -> bytes | None:
        """What was written in place, since it was read, to the file that has no name any more. Raises OSError."""
        if self._fd is None or self.is_unwritten():
            return None
        return atomic.read_up_to(self._fd, 0, os.fstat(self._fd).st_size)

    def temporary(self, name: str, after: object, new: os.stat_result | None, older: str = "") -> str:
        """The temporary name (conflicts.py) that the file has from when `after`, which is the file `new`, takes its
        place until it was looked at. `older` is the temporary name of `new`."""
        if self.is_foreign:
            return conflicts.temporary(name, (-1, 0), conflicts.SAME, new, older)  # no file is like that
        if self.data is ... or self.data is None:
            return conflicts.temporary(name, self._end or (0, 0), conflicts.END, new, older)
        kind = conflicts.SAME if after == self.data else conflicts.WHOLE
        return conflicts.temporary(name, (len(self.data), self._sum(self.data)), kind, new, older)

    def _sum(self, data: bytes) -> int:
        if self.checksum is not None:
            return self.checksum()
        import zlib  # a shared object

        return zlib.crc32(data)


def read(folder: Folder, name: str, limit: int) -> Original:
    """The file `name`. Raises as Folder.read does."""
    found = folder.hold(name, limit)
    if found is None:
        return Original(limit=limit)
    data, fd, info = found
    if not AT:  # Windows replaces no file that is open
        close_fd(fd)
    return Original(data, fd if AT else None, info, limit)


def read_any(folder: Folder, name: str, limit: int) -> Original:
    """As `read`, but the bytes of a larger file, or of one that we may not read, are not known.

    Raises PathRefused, StorageError.
    """
    try:
        return read(folder, name, limit)
    except (StateError, StorageError) as error:
        info = folder.look(name)
        if not folder.check_plain(name) or info is None:
            raise
        try:
            fd = folder.open(name, os.O_RDONLY) if AT and isinstance(error, StateError) else None
        except OSError as wrong:
            raise StorageError(folder.show(name), "read", reason(wrong)) from wrong
        return Original(..., fd, info if fd is None else os.fstat(fd), limit)


def _identity(info: os.stat_result) -> tuple[int, ...]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _end(fd: int) -> tuple[int, int]:
    return conflicts.mark_of(fd, conflicts.END)


def _bits(original: Original) -> int | None:
    return None if original.permissions is None else original.permissions.bits
