"""Replace files atomically: readers see the old bytes or the new ones, and a reported change survives a power cut.

This module also reads and copies ranges of open files, and exchanges two names in one step.
"""

from __future__ import annotations

import errno
import os
import sys

from nexus_mcp.errors import NotConfirmed, StorageError
from nexus_mcp.store.folder import close_fd, reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nexus_mcp.store.folder import Copy, Folder

    Call = Callable[[int, bytes, int, bytes], int]

CHUNK = 1 << 20
_NO_COPY_RANGE = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
"""Errors of a kernel or file system that lacks copy_file_range, as opposed to errors of the disk."""


class Shrunk(OSError):
    """The file has fewer bytes than before."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "it has become shorter")


def read_range(fd: int, begin: int, end: int) -> bytes:
    """Return the bytes of a file from `begin` to `end`. Raise OSError (Shrunk)."""
    parts = []
    while begin < end:
        part = read_at(fd, min(CHUNK, end - begin), begin)
        if not part:
            raise Shrunk
        parts.append(part)
        begin += len(part)
    return b"".join(parts)


def copy_range(source: int, target: int, size: int) -> None:
    """Write the first `size` bytes of the file `source` at the current position of `target`. Raise OSError (Shrunk).

    The kernel copies if it can: as shared blocks, if the file system has them, or as one copy in its cache.
    """
    done = _copy_by_kernel(source, target, size) if hasattr(os, "copy_file_range") else 0
    while done < size:
        end = min(size, done + CHUNK)
        write_all(target, read_range(source, done, end))
        done = end


def _copy_by_kernel(source: int, target: int, size: int) -> int:
    """Return how many bytes the kernel copied; fewer than `size` if the caller has to copy the rest in another way."""
    done = 0
    while done < size:
        try:
            count = os.copy_file_range(source, target, size - done, offset_src=done)
        except OSError as error:
            if error.errno in _NO_COPY_RANGE:
                return done
            raise
        if not count:
            return done  # some file systems return 0 although the file has bytes left
        done += count
    return done


# renameat2(2) with RENAME_EXCHANGE exchanges two names in one step. `os` lacks the call. To import `ctypes` takes 1 ms
# and 0.5 MB; `_ctypes`, the C module that it uses, takes about 33 % of both.


_EXCHANGE = 2  # RENAME_EXCHANGE
# The errors of a kernel, file system or sandbox that does not have the call. A sandbox reports EPERM or EACCES. If
# access really is denied, the rename that is tried instead fails with the same error.
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EXDEV)
_NO_LINKS = (*_NO_EXCHANGE, errno.EMLINK)
_renameat2: list[Call | None] = []


def exchange(folder: Folder, one: str, other: str) -> bool:
    """Exchange the names `one` and `other` in `folder`; return False if names cannot be exchanged. Raise OSError."""
    if folder.descriptor is None:
        return False
    call = load_renameat2()
    if call is None:
        return False
    failed = call(folder.descriptor, os.fsencode(one), folder.descriptor, os.fsencode(other))
    if failed in _NO_EXCHANGE:
        return False
    if failed:
        raise OSError(failed, os.strerror(failed), other)
    return True


def load_renameat2() -> Call | None:
    """Return the function that calls renameat2 and returns 0 or an errno; None if the system does not have the call."""
    if not _renameat2:
        _renameat2.append(_load_call() if sys.platform == "linux" else None)
    return _renameat2[0]


def place(folder: Folder, temporary: str, name: str) -> None:
    """Give the file `temporary` the name `name`. Raise FileExistsError if a file has this name, OSError, StorageError.

    This uses a hard link, which never replaces a file; on a file system without links, a check and a rename.
    """
    try:
        os.link(temporary, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor, follow_symlinks=False)
    except (OSError, NotImplementedError) as error:
        if folder.descriptor is not None and getattr(error, "errno", 0) not in _NO_LINKS:
            raise
        if folder.look(name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from error
        folder.rename(temporary, name)
        return
    try:
        folder.unlink(temporary)
    except OSError:  # the file has its name; the next sweep removes the second one
        folder.is_untidy = True


def add_name(folder: Folder, name: str, other: str) -> bool:
    """Give the file `name` a second name; return False if the system cannot make the link. Raise FileNotFoundError,
    FileExistsError.
    """
    if folder.descriptor is None:
        return False
    try:
        os.link(name, other, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor, follow_symlinks=False)
    except (FileNotFoundError, FileExistsError):
        raise
    except (OSError, NotImplementedError):
        return False
    return True


def _load_call() -> Call | None:
    try:
        import _ctypes
    except ImportError:
        return None

    class Number(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "i"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
        _restype_ = Number

    try:
        program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
        function = Function(_ctypes.dlsym(program, "renameat2"))
    except OSError:
        return None

    def call(one_folder: int, one: bytes, other_folder: int, other: bytes) -> int:
        return _ctypes.get_errno() if function(one_folder, one, other_folder, other, _EXCHANGE) else 0

    return call


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


PREFIX = ".nexus-tmp-"
"""Prefix of the names of temporary files."""
MOST_ASIDE = 8
"""The maximum number of corrupt versions of a file that `set_aside` keeps. There is a limit because the program that
corrupts the file may run in every session.
"""
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PART = 1 << 20  # bytes in one read: os.pread allocates the requested size, even for a short file


class SyncFailed(Exception):
    """A rename or removal is done, but the fsync of its folder failed: readers see the change, but a power cut may undo
    it.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def replace(
    folder: Folder,
    name: str,
    parts: Iterable[bytes],
    check: Callable[[], None] | None = None,
    *,
    mode: os.stat_result | Copy | None = None,
    confirmed: bool = True,
    synced: bool = True,
) -> None:
    """Replace the file `name` by a file that consists of `parts`; create it if absent. `check` is called right before
    the rename. `mode` is that of `prepare`; with None a replaced file keeps its permissions.

    The change is durable when this returns; without `synced` a power cut may leave an empty file. If `confirmed` is
    false, the caller has to sync the folder before the response is sent.

    Raise OSError, StorageError, the errors of `check`, and PathRefused if `name` is no plain file, all with the old
    file untouched; SyncFailed after the rename. A failed fsync is never repeated on the same descriptor: the second one
    may report success for pages that were dropped.
    """
    there = folder.plain(name)  # refuses a link or a folder
    temporary = prepare(folder, parts, there if mode is None else mode, synced=synced)
    try:
        if check is not None:
            check()
        folder.rename(temporary, name)
    except BaseException:
        folder.unlink(temporary)
        raise
    if confirmed:
        confirm(folder)


def put(folder: Folder, name: str, data: bytes | None, check: Callable[[], None] | None = None) -> None:
    """Replace the file `name` by `data`; remove the file if `data` is None. Raise StorageError, NotConfirmed,
    PathRefused.
    """
    try:
        if data is None:
            if check is not None:
                check()
            folder.unlink(name)
        else:
            replace(folder, name, [data], check, confirmed=False)
    except OSError as error:
        raise StorageError(folder.show(name), "write", reason(error)) from error
    confirm_file(folder, name)


def confirm_file(folder: Folder, name: str) -> None:
    """Sync the folder after its file `name` was replaced or removed. Raise NotConfirmed."""
    try:
        confirm(folder)
    except SyncFailed as error:
        raise NotConfirmed(folder.show(name), reason(error.cause)) from error


def set_aside(folder: Folder, name: str, as_: str) -> str:
    """Rename the file `name` to `as_`, with a number before the suffix if that name is taken; return the new name.

    If there are MOST_ASIDE such files already, the last one is replaced, because the first ones show how the damage
    began. Raise the errors of `put`.
    """
    stem, dot, suffix = as_.rpartition(".")
    number, free = 1, as_
    while folder.check_plain(free) and number < MOST_ASIDE:
        number += 1
        free = f"{stem}.{number}{dot}{suffix}"
    try:
        folder.rename(name, free)
    except OSError as error:
        raise StorageError(folder.show(name), "rename", reason(error)) from error
    confirm_file(folder, free)
    return free


def remove(folder: Folder, name: str) -> None:
    """Remove the file `name`, durably. Raise OSError if the file is still there, SyncFailed after its removal."""
    folder.unlink(name)
    confirm(folder)


def sync(folder: Folder) -> None:
    """Sync the folder, in which this call has changed nothing yet. Raise StorageError."""
    try:
        folder.sync()
    except OSError as error:
        raise StorageError(folder.shown or folder.path, "sync", reason(error)) from error


def confirm(folder: Folder) -> None:
    """Sync the folder. Raise SyncFailed."""
    try:
        folder.sync()
    except OSError as error:
        raise SyncFailed(error) from error


def prepare(
    folder: Folder,
    parts: Iterable[bytes | Callable[[int], None]],
    mode: os.stat_result | Copy | None = None,
    *,
    synced: bool = True,
) -> str:
    """Write `parts` to a new temporary file, sync it if `synced`, and return its name. A failure leaves nothing behind.

    A part is bytes, or a function that is called with the descriptor and writes bytes to it. `mode` determines the
    permissions of the new file: the stat of a file with the same permissions, or a Copy (folder.py), which limits them;
    None means the default permissions. Raise OSError, StorageError, PathRefused and the errors of these functions.
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
            if synced:
                _sync(fd)
        finally:
            os.close(fd)
    except BaseException:
        folder.unlink(temporary)
        raise
    return temporary


def sync_file(folder: Folder, name: str) -> None:
    """Sync the file `name`. Raise OSError, PathRefused, StorageError."""
    fd = folder.open(name, os.O_RDWR)
    try:
        _sync(fd)
    finally:
        close_fd(fd)


def _sync(fd: int) -> None:
    # On macOS fsync leaves the data in the drive's own cache; F_FULLFSYNC flushes that cache, too (fcntl(2)).
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(fd)
    else:
        fcntl.fcntl(fd, full)


def write_all(fd: int, data: bytes) -> None:
    """Write `data` completely, even if the system takes a part at a time. Raise OSError, with some of it written."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_up_to(fd: int, start: int, most: int) -> bytes:
    """Return the bytes of a file from `start` on, at most `most` of them. Raise OSError."""
    parts = []
    while most > 0 and (part := read_at(fd, min(most, _PART), start)):
        parts.append(part)
        start += len(part)
        most -= len(part)
    return b"".join(parts)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Read like os.pread. Without it (Windows) this moves the position: only one thread may use the descriptor."""
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)
