"""Replace a file so that every reader sees the old bytes or the new ones, and a power cut cannot undo an answer."""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp.errors import NotConfirmed, StorageError
from nexus_mcp.store import conflicts
from nexus_mcp.store.opening import let_go, reason

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.permissions import Copy, Permissions

PREFIX = conflicts.TEMPORARY
MOST_ASIDE = 8
"""Files of a name that are kept when they cannot be used: whatever spoils one may do so at every session."""
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PART = 1 << 20  # bytes: more at once would be allocated whole, however little there is


class Unsynced(Exception):
    """The rename happened, the fsync of its folder failed: readers see the new file, a power cut may undo it."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def replace(
    folder: Folder,
    name: str,
    parts: Iterable[bytes],
    check: Callable[[], None] | None = None,
    *,
    mode: Permissions | Copy | None = None,
    confirmed: bool = True,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Put `parts`, one after the other, in the place of the file `name`: durable when this returns.

    Unless `confirmed` is false: then whoever calls syncs the folder before the change is answered. `meanwhile` as for
    `prepare`.

    A temporary file beside the target, fsync, rename, fsync of the folder. Raises OSError with the old file untouched,
    Unsynced after the rename, PathRefused when a link or a folder stands in the target's place. A failed fsync is
    never tried again on the same descriptor: the second one may report success for pages that were dropped. A
    file that was there keeps its permissions, unless `mode` says which it is to have. `check` is called last before
    the rename; what it raises ends it.
    """
    there = folder.permissions(name)  # and no link or folder
    temporary = prepare(folder, parts, there if mode is None else mode, meanwhile)
    if check is not None:
        try:
            check()
        except BaseException:
            folder.unlink(temporary)
            raise
    install(folder, temporary, name, confirmed=confirmed)


def install(folder: Folder, temporary: str, name: str, *, confirmed: bool = True) -> None:
    """Put a prepared file in the place of `name`. Raises as `replace` does."""
    try:
        folder.rename(temporary, name)
    except OSError:
        folder.unlink(temporary)
        raise
    if confirmed:
        confirm(folder)


def put(folder: Folder, name: str, data: bytes | None, check: Callable[[], None] | None = None) -> None:
    """Replace the file `name` by `data`, or remove it for None. Raises StorageError, NotConfirmed, PathRefused."""
    try:
        if data is None:
            if check is not None:
                check()
            folder.unlink(name)
        else:
            replace(folder, name, [data], check, confirmed=False)
    except OSError as error:
        raise StorageError(folder.show(name), "write", reason(error)) from error
    confirming(folder, name)()


def confirming(folder: Folder, name: str) -> Callable[[], None]:
    """What syncs the folder after its file `name` was replaced; it raises NotConfirmed."""

    def sync() -> None:
        try:
            confirm(folder)
        except Unsynced as error:
            raise NotConfirmed(folder.show(name), reason(error.cause)) from error

    return sync


def set_aside(folder: Folder, name: str, as_: str) -> str:
    """Give the file `name` the name `as_`, with a number before its suffix while that is taken; returns its new name.

    Where MOST_ASIDE are there already it takes the place of the last one: the first ones tell how it began. Raises as
    `put` does.
    """
    stem, dot, suffix = as_.rpartition(".")
    number, free = 1, as_
    while folder.check_plain(free) and number < MOST_ASIDE:
        number += 1
        free = f"{stem}.{number}{dot}{suffix}"
    try:
        folder.rename(name, free)
        confirm(folder)
    except Unsynced as error:
        raise NotConfirmed(folder.show(free), reason(error.cause)) from error
    except OSError as error:
        raise StorageError(folder.show(name), "rename", reason(error)) from error
    return free


def remove(folder: Folder, name: str) -> None:
    """Remove the file `name`, durably. Raises OSError with the file still there, Unsynced after it went."""
    folder.unlink(name)
    confirm(folder)


def confirm(folder: Folder) -> None:
    """fsync of the folder. Raises Unsynced."""
    try:
        folder.sync()
    except OSError as error:
        raise Unsynced(error) from error


def prepare(
    folder: Folder,
    parts: Iterable[bytes | Callable[[int], None]],
    mode: Permissions | Copy | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> str:
    """Write `parts` to a new temporary file, synced, and return its name. Leaves nothing behind when it fails.

    A part is bytes, or a function that writes some to the descriptor which it is given.
    `mode` says which permissions it has (permissions.py); None for those of any new file. `meanwhile` is called while
    the disk is at work: it takes no longer, and nobody sees the file before. What it raises ends it.
    """
    temporary = f"{PREFIX}{os.urandom(8).hex()}"
    fd = folder.open(temporary, _FLAGS, mode)
    try:
        try:
            for part in parts:
                if callable(part):
                    part(fd)
                else:
                    write_all(fd, part)
            if meanwhile is not None:
                _begin_to_sync(fd)
                meanwhile()
            _sync(fd)
        finally:
            os.close(fd)
    except BaseException:
        folder.unlink(temporary)
        raise
    return temporary


def sweep(folder: Folder) -> None:
    """Remove temporary files that a crash left in this folder. Only under the lock: no live one can be there.

    One with what another program saved is kept (conflicts.py). Raises StorageError.
    """
    for name in folder.names():
        if name.startswith(PREFIX):
            try:
                if conflicts.is_settled(folder, name):
                    folder.unlink(name)
            except IsADirectoryError:
                continue  # none of ours
            except OSError as error:
                raise StorageError(folder.show(name), "remove the leftover", reason(error)) from error


def sync_file(folder: Folder, name: str) -> None:
    """fsync of the file `name`. Raises OSError, PathRefused."""
    fd = folder.open(name, os.O_RDWR)
    try:
        _sync(fd)
    finally:
        let_go(fd)


def _begin_to_sync(fd: int) -> None:
    """Let the system write the file to the disk from now on, where it can be told so. Nothing is known of it before
    `_sync`, which has less to wait for."""
    if hasattr(os, "posix_fadvise"):
        # Linux takes it for that, too, and keeps in memory what is not on the disk yet.
        with suppress(OSError):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _sync(fd: int) -> None:
    # On macOS fsync leaves the data in the drive's own cache, and this asks for more (fcntl(2) there).
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, full)


def write_all(fd: int, data: bytes) -> None:
    """Write `data`, however little the system takes at a time. Raises OSError, with some of it written."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read(fd: int, start: int, most: int) -> bytes:
    """The bytes of a file from `start` on, `most` of them at most. Raises OSError."""
    parts = []
    while most > 0 and (part := read_at(fd, min(most, _PART), start)):
        parts.append(part)
        start += len(part)
        most -= len(part)
    return b"".join(parts)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """As os.pread, which Windows has not: each descriptor of such files is used by one thread alone."""
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)
