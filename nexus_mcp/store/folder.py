"""Open folders and files below the project without following a link, and choose the permissions of new ones.

If the platform supports it, every call uses a descriptor of the folder (openat and similar), so that another process
cannot lead the call outside the project by replacing a folder with a link. Elsewhere lstat checks each step first.
Opening never waits for a pipe. O_NOATIME prevents updates of access times: the next sync would wait for such a write.

A folder with the setgid bit is shared, as with git's `core.sharedRepository`: a new file gives the group the folder's
read and write permissions, whatever the umask is, unless a Copy limits them. No new file gives the group or others more
permissions than its folder does, but a file that replaces another one keeps its permissions (docs/decisions/0054).
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from nexus_mcp.errors import NexusError, PathRefused, StateError, StorageError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any, Self

AT = os.open in os.supports_dir_fd and os.unlink in os.supports_dir_fd


class Folder:
    """An open folder. `shown` is its path from the project root, for messages. Close it, or use it in `with`."""

    __slots__ = ("descriptor", "is_untidy", "path", "shown")

    def __init__(self, path: str, shown: str, fd: int | None) -> None:
        self.path = path
        self.shown = shown
        self.descriptor = fd
        self.is_untidy = False  # a temporary file could not be removed; the next lock holder sweeps it

    @classmethod
    def root(cls, path: str) -> Folder:
        """Open the project folder. The caller has resolved the links on the way to it. Raise StorageError."""
        try:
            if not AT and not os.path.isdir(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            # The caller has resolved all links in the path, so a link in it was made afterwards.
            return cls(path, "", open_at(path, _FOLDER) if AT else None)
        except OSError as error:
            gone = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
            advice = "Restart the server in a folder that exists." if gone else ""
            raise StorageError(path, "open the project folder", reason(error), next_step=advice) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self.descriptor is not None and self.descriptor >= 0:
            close_fd(self.descriptor)
            self.descriptor = -1  # an invalid descriptor; None would mean the current folder

    def make(self, name: str, *, confirm: bool = True) -> tuple[Folder, bool]:
        """Return (the folder `name`, whether it is new); `confirm` syncs its name. Raise PathRefused, StorageError."""
        made, child = False, None
        try:
            with suppress(FileExistsError):
                above = self.look(".")
                bits = 0o777 if above is None or not HAS_MODES else _OWNER | _permissions_under(above)
                os.mkdir(self._at(name), bits, **self._dir_fd())
                made = True
            child = self.child(name)
            if child is None:
                raise StorageError(self.show(name), "open", os.strerror(errno.ENOENT))
            if made and child.descriptor is not None and above and HAS_MODES and above.st_mode & stat.S_ISGID:
                _share(child.descriptor, above, _permissions_under(above))
            # The maker of an empty folder may have died before its sync. A folder with files counts as synced.
            if confirm and (made or not child.names()):
                self.sync()
        except (OSError, NexusError) as error:
            if child is not None:
                child.close()
            if made:
                self.remove_folder(name)
            if isinstance(error, NexusError):
                raise
            raise StorageError(self.show(name), "make", reason(error)) from error
        return child, made

    def child(self, name: str) -> Folder | None:
        """Return the folder `name` in this one, None if absent. Raise PathRefused, StorageError."""
        shown = self.show(name)
        path = f"{self.path}{name}" if self.path.endswith(os.sep) else f"{self.path}{os.sep}{name}"
        if AT:
            try:
                return Folder(path, shown, open_at(name, _FOLDER, self.descriptor))
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise StorageError(shown, "open", reason(error)) from error
        seen = self.look(name)
        if seen is not None and not stat.S_ISDIR(seen.st_mode):
            raise refusal(shown, seen.st_mode, "a folder")
        if AT:  # another process replaced a link or a file by this folder
            raise PathRefused(shown, "is not a plain folder", next_step=ADVICE)
        return None if seen is None else Folder(path, shown, None)

    def read(self, name: str, limit: int) -> bytes | None:
        """Return the bytes of the plain file `name`, None if absent. Raise the errors of `hold`."""
        if (found := self.hold(name, limit)) is None:
            return None
        close_fd(found[1])
        return found[0]

    def hold(self, name: str, limit: int) -> tuple[bytes, int, os.stat_result] | None:
        """Return (the bytes of the file `name`, its open descriptor, its stat before the read), None if absent. Raise
        StateError if it is larger than `limit` bytes, PathRefused, StorageError.
        """
        shown, fd = self.show(name), -1
        try:
            fd = self.open(name, os.O_RDONLY)
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise refusal(shown, info.st_mode, "a file")
            if info.st_size > limit:
                bound = f"{limit >> 20} MiB" if limit >> 20 else f"{limit >> 10} KiB"
                raise StateError(shown, f"is larger than the {bound} that are read")
            chunks = [os.read(fd, info.st_size + 1)]
            while chunks[-1] and len(chunks[0]) != info.st_size:  # a read of st_size bytes reached the end
                chunks.append(os.read(fd, 1 << 16))
            return b"".join(chunks), fd, info
        except BaseException as error:
            if fd >= 0:
                close_fd(fd)
            elif isinstance(error, FileNotFoundError):
                return None
            if isinstance(error, OSError):
                raise StorageError(shown, "read", reason(error)) from error
            raise

    def open(self, name: str, flags: int, wanted: os.stat_result | Copy | None = None) -> int:
        """Open the file `name` and return a descriptor. Raise PathRefused, StorageError, OSError.

        With O_CREAT an absent file is created. `wanted` determines its permissions: the stat of a file with the same
        permissions, or a Copy, which limits them; None means the default. An existing file keeps its permissions.
        """
        if not flags & os.O_CREAT:
            return self.open_as(name, flags, 0)
        for left in reversed(range(_TRIES)):
            if not flags & os.O_EXCL:
                with suppress(FileNotFoundError):
                    return self.open_as(name, flags & ~os.O_CREAT, 0)
            try:
                return _create(self, name, flags | os.O_EXCL, wanted)
            except FileExistsError:
                if flags & os.O_EXCL or not left:
                    raise
        raise AssertionError

    def open_as(self, name: str, flags: int, mode: int) -> int:
        """Open the file `name`, not a link; O_CREAT uses the bits `mode` less the umask. Raise the errors of `open`."""
        if not AT:
            self.check_plain(name)
            return os.open(os.path.join(self.path, name), flags | FILE, mode)
        try:
            return open_at(name, flags | FILE, self.descriptor, mode)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                self.check_plain(name)
            raise

    def check_plain(self, name: str) -> bool:
        """Return whether the file `name` exists. Raise PathRefused if it is no plain file, StorageError."""
        return self.plain(name) is not None

    def plain(self, name: str) -> os.stat_result | None:
        """Return the stat of the file `name`, None if absent. Raise the errors of `check_plain`."""
        seen = self.look(name)
        if seen is not None and not stat.S_ISREG(seen.st_mode):
            raise refusal(self.show(name), seen.st_mode, "a file")
        return seen

    def rename(self, old: str, new: str) -> None:
        """Rename `old` to `new`; a file `new` is replaced in one step, so readers always find one. Raise OSError."""
        if AT:
            os.replace(old, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        else:
            os.replace(os.path.join(self.path, old), os.path.join(self.path, new))

    def unlink(self, name: str) -> None:
        """Remove the file `name`; a missing file is no error. Raise OSError."""
        with suppress(FileNotFoundError):
            os.unlink(self._at(name), **self._dir_fd())

    def remove_folder(self, name: str) -> bool:
        """Remove the folder `name`; return False if it is not empty or cannot be removed."""
        try:
            os.rmdir(self._at(name), **self._dir_fd())
        except OSError:
            return False
        return True

    def is_current(self) -> bool:
        """Return whether this folder is still at its path. Raise StorageError if that cannot be checked."""
        if self.descriptor is None:
            return os.path.isdir(self.path)
        try:
            return os.path.samestat(os.stat(self.path, follow_symlinks=False), os.fstat(self.descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StorageError(self.shown, "look at", reason(error)) from error

    def is_file(self, name: str, fd: int, *, in_place: bool = False) -> bool:
        """Return whether the file `name` is still the one that is open as `fd`; with `in_place` this folder must be at
        its path, too. Raise StorageError.
        """
        named = self.look(name) if not in_place or self.is_current() else None
        try:
            return named is not None and os.path.samestat(named, os.fstat(fd))
        except OSError as error:
            raise StorageError(self.show(name), "look at", reason(error)) from error

    def look(self, name: str) -> os.stat_result | None:
        """Return the stat of the file, folder or link `name`, None if absent. Raise StorageError."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False) if AT else os.lstat(self._at(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(self.show(name), "look at", reason(error)) from error

    def look_all(self, names: Iterable[str]) -> list[os.stat_result | None]:
        """Return the result of `look` for each name."""
        return [self.look(name) for name in names]

    def names(self, most: int | None = None) -> list[str]:
        """Return the names in this folder, at most `most` + 1 of them. Raise StorageError."""
        try:
            if most is None:
                return os.listdir(self.descriptor if AT else self.path)
            with os.scandir(self.descriptor if AT else self.path) as found:
                return [entry.name for _, entry in zip(range(most + 1), found, strict=False)]
        except OSError as error:
            raise StorageError(self.shown, "list", reason(error)) from error

    def sync(self) -> None:
        """Make renames and removals in this folder durable. Raise OSError. Windows has no such call for folders."""
        if self.descriptor is not None:
            os.fsync(self.descriptor)

    def show(self, name: str) -> str:
        """Return the path of `name` from the project root, with `/`."""
        return f"{self.shown}/{name}" if self.shown else name

    def _at(self, name: str) -> str:
        return name if AT else os.path.join(self.path, name)

    def _dir_fd(self) -> dict[str, Any]:
        return {"dir_fd": self.descriptor} if AT else {}


_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
# Without O_NONBLOCK, opening a pipe would block.
FILE = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | _CLOEXEC

ADVICE = "Look at what was put there and why; move it away yourself if it is not needed, then call again."

# Errors of O_NOATIME for a user that is not the owner (EPERM), and on file systems without this flag.
_NO_ATIME_REFUSED = frozenset({errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP})
_no_atime = [getattr(os, "O_NOATIME", 0)]


def open_at(name: str, flags: int, within: int | None = None, mode: int = 0) -> int:
    """Open the file or folder `name` in the folder with the descriptor `within`. Raise OSError."""
    # Not with O_CREAT: on CIFS a new file may belong to another user, and would stay although the call failed.
    undated = 0 if flags & os.O_CREAT else _no_atime[0]  # read once: another thread may set it to 0 meanwhile
    try:
        return os.open(name, flags | undated, mode, dir_fd=within)
    except OSError as error:
        if not undated or error.errno not in _NO_ATIME_REFUSED:
            raise
    fd = os.open(name, flags, mode, dir_fd=within)
    _no_atime[0] = 0  # the flag was the cause of the error: do not use it again
    return fd


def open_folders(opened: list[Folder], path: str, *names: str) -> list[Folder | None]:
    """Return the project folder at `path`, the folder `names[0]` in it, and so on; None from the first absent one on.

    Each folder is added to `opened` as soon as it is open. Raise PathRefused, StorageError.
    """
    last: Folder | None = Folder.root(path)
    found = [last]
    for name in names:
        if last is not None:
            opened.append(last)
            last = last.child(name)
        found.append(last)
    if last is not None:
        opened.append(last)
    return found


def close_all(opened: list[Folder]) -> None:
    """Close the folders, the last first, and remove them from the list."""
    while opened:
        opened.pop().close()


def refusal(shown: str, mode: int, wanted: str) -> PathRefused:
    """Return the error for an entry of another kind than `wanted`, which is "a file" or "a folder"."""
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    seen = kinds.get(stat.S_IFMT(mode), "a special file")
    return PathRefused(shown, f"is {seen} where {wanted} belongs", next_step=ADVICE)


def close_fd(fd: int) -> None:
    """Close a descriptor that was only read, or whose data is on disk. Errors are ignored: the change is complete."""
    try:  # noqa: SIM105 - a change closes eight of them, and `suppress` is three calls
        os.close(fd)
    except OSError:
        pass


def reason(error: OSError) -> str:
    """Return the system's text for an error, without the path that Python adds."""
    return error.strerror or type(error).__name__


HAS_MODES = hasattr(os, "fchmod") and hasattr(os, "getegid")
_OWNER, _GROUP, _OTHERS = stat.S_IRWXU, stat.S_IRWXG, stat.S_IRWXO
_READ_WRITE = 0o666
_TRIES = 5  # attempts to open a file that another process creates and removes


def bits_of(info: os.stat_result) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(info.st_mode) & 0o777


def bits_for(info: os.stat_result, group: int) -> int:
    """Return the bits for a copy that belongs to `group`; a group other than the file's gets the bits of "others"."""
    bits = bits_of(info)
    return bits if group == info.st_gid else bits & ~_GROUP | (bits << 3) & _GROUP


class Copy:
    """Limits the permissions of a new file that contains text of other files to the permissions of those files.

    A `private` file can be read only by its owner, and by the folder's group if this group may write in the folder: the
    members of the group need the file to complete an interrupted change.
    """

    __slots__ = ("_sources", "is_private")

    def __init__(self, sources: Iterable[os.stat_result | None] = (), *, private: bool = True) -> None:
        self._sources = [source for source in sources if source is not None]
        self.is_private = private

    def limit(self, group: int) -> int:
        """Return the read and write bits that all copied files have, for a new file that belongs to `group`."""
        bits = _READ_WRITE
        for source in self._sources:
            bits &= bits_for(source, group)
        return bits


PRIVATE = Copy()


def _create(folder: Folder, name: str, flags: int, wanted: os.stat_result | Copy | None) -> int:
    if isinstance(wanted, os.stat_result):
        if not HAS_MODES:
            return folder.open_as(name, flags, _READ_WRITE)
        fd = folder.open_as(name, flags, wanted.st_mode & _OWNER)
        return _or_closed(folder, name, fd, lambda: _keep(folder, fd, wanted))
    above = folder.look(".") if HAS_MODES else None
    if above is None:
        return folder.open_as(name, flags, _READ_WRITE)
    allowed = _permissions_under(above) & _READ_WRITE
    if wanted is not None:
        allowed &= wanted.limit(_group(above))
        if wanted.is_private:
            allowed &= _READ_WRITE & (_OWNER | _GROUP if above.st_mode & stat.S_IWGRP else _OWNER)
    fd = folder.open_as(name, flags, allowed | stat.S_IRUSR | stat.S_IWUSR)
    if above.st_mode & stat.S_ISGID:
        return _or_closed(folder, name, fd, lambda: _share(fd, above, allowed))
    return fd


def _or_closed(folder: Folder, name: str, fd: int, set_bits: Callable[[], None]) -> int:
    """Return the descriptor after `set_bits` has set its permissions; if that fails, remove the file."""
    try:
        set_bits()
    except BaseException:
        os.close(fd)
        with suppress(OSError):
            folder.unlink(name)
        raise
    return fd


def _group(above: os.stat_result) -> int:
    """Return the group of a new file in the folder `above`."""
    return above.st_gid if above.st_mode & stat.S_ISGID else os.getegid()


def _permissions_under(above: os.stat_result) -> int:
    """Return the permission bits of the folder `above`, as limits for a new file in it."""
    # If the file belongs to another group, that group gets only the permissions that the folder gives to "others".
    return bits_for(above, _group(above))


def _share(fd: int, above: os.stat_result, allowed: int) -> None:
    info = os.fstat(fd)
    bits = stat.S_IMODE(info.st_mode)
    if info.st_gid == above.st_gid:
        shared = bits | allowed & _GROUP
    else:  # the mount assigns the file to another group
        shared = bits & ~_GROUP | bits & _GROUP & (allowed & _OTHERS) << 3
    if shared != bits:
        # A file system without permission bits refuses the call; there, every file has the bits of the mount.
        with suppress(PermissionError):
            os.fchmod(fd, shared)


def _keep(folder: Folder, fd: int, wanted: os.stat_result) -> None:
    """Give the new file the bits and the group of `wanted`, unless the folder decides the group. Raise OSError,
    StorageError.
    """
    info = os.fstat(fd)
    bits = bits_of(wanted)
    if info.st_gid != wanted.st_gid:
        above = folder.look(".")
        if above is not None and above.st_mode & stat.S_ISGID and info.st_gid == above.st_gid:
            bits &= ~_GROUP | above.st_mode
        else:
            try:
                os.fchown(fd, -1, wanted.st_gid)
            except OSError:
                bits &= bits_for(wanted, info.st_gid)
    if stat.S_IMODE(info.st_mode) != bits:
        os.fchmod(fd, bits)
