"""Delete folders of a target by descriptors, at any depth, without ever entering a link or a mount.

A path may lead to another folder at any moment, so a folder is identified by its descriptor, device and inode. Mounts
are distinguished by their mount id if possible, because a bind mount of a folder on the same disk has the same device
number.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from nexus_mcp.conformance import stopping
from nexus_mcp.conformance.result import Leftover

Mount = tuple[str, int]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
"""The flags to open a folder; a link is refused."""
_AT_ONCE = 1000
"""The maximum number of entries of a folder that are read at once, because a target can create millions."""
_MOST_REPORTED = 5
_LONGEST = 400
MOUNTED = "a file system is mounted there"
_WORDS = {errno.EBUSY: MOUNTED, errno.EPERM: "it may be immutable: check with lsattr"}


def mount_of(fd: int) -> Mount:
    """Return the mount of an open file: its mount id; without /proc its device number, which a bind mount shares."""
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            for line in file:
                if line.startswith("mnt_id:"):
                    return "mount", int(line.split()[1])
    except (OSError, ValueError, IndexError):  # not Linux, or no /proc
        pass
    return "device", os.fstat(fd).st_dev


def identity(fd: int) -> tuple[int, int]:
    """Return device and inode of an open file, which are unique as long as it is open."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


class MountFound(OSError):
    """The folder is the root of another mount."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.EBUSY, MOUNTED, name)


def remove_at(folder: int, name: str) -> None:
    """Delete the file, the link itself or the folder `name` in an open folder. A missing name is no error.

    Raise OSError when it remains, RunHalted when the work has to stop.
    """
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    inside = _open_deletable(name, folder, mount_of(folder))
    try:
        empty_folder(inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=folder)


def empty_folder(top: int, path: str = "") -> list[Leftover]:
    """Delete everything in an open folder as far as possible, and return the first paths that remain.

    `path` is the folder's name in the returned paths. Raise RunHalted when the work has to stop. This opens at most two
    folders below `top` at a time and uses no recursion, because a target can nest folders deeper than descriptors or
    recursion allow.
    """
    left: list[Leftover] = []
    try:
        os.fchmod(top, stat.S_IMODE(os.fstat(top).st_mode) | stat.S_IRWXU)
        _Descent(top, path, left).run()
    except OSError as error:
        left.append(Leftover(path, describe_error(error)))
    return left


def describe_error(error: OSError) -> str:
    """Return why something cannot be deleted."""
    return _WORDS.get(error.errno or 0) or error.strerror or str(error)


@dataclass
class _Level:
    """A folder on the way down. `folders` are still to be entered; `stuck` are names that could not be deleted."""

    name: str
    identity: tuple[int, int]
    folders: list[str] = field(default_factory=list)
    stuck: set[str] = field(default_factory=set)


class _Descent:
    def __init__(self, top: int, path: str, left: list[Leftover]) -> None:
        self._top = top
        self._path = path
        self._left = left
        self._fd = -1
        self._mount = mount_of(top)
        self._levels: list[_Level] = []

    def run(self) -> None:
        self._fd = os.open(".", FOLDER, dir_fd=self._top)
        try:
            self._levels = [_Level("", identity(self._fd))]
            while self._levels:
                stopping.check()
                level = self._levels[-1]
                if level.folders:
                    self._enter(level.folders.pop())
                elif not self._delete_files(level) and not self._leave():
                    return
        finally:
            os.close(self._fd)

    def _enter(self, name: str) -> None:
        try:
            below = _open_deletable(name, self._fd, self._mount)
        except OSError as error:
            self._skip_name(name, error)
            return
        os.close(self._fd)
        self._fd = below
        self._levels.append(_Level(name, identity(below)))

    def _delete_files(self, level: _Level) -> bool:
        """Delete the next files and note the next folders; return False when nothing more can be done."""
        if len(level.stuck) >= _AT_ONCE:
            return False
        try:
            with os.scandir(self._fd) as found:
                wanted = (entry for entry in found if entry.name not in level.stuck)
                entries = [(one.name, one.is_dir(follow_symlinks=False)) for one in islice(wanted, _AT_ONCE)]
        except OSError:
            return False
        for name, is_folder in entries:
            if is_folder:
                level.folders.append(name)
                continue
            try:
                os.unlink(name, dir_fd=self._fd)
            except OSError as error:
                self._skip_name(name, error)
        return bool(entries)

    def _leave(self) -> bool:
        """Go up and delete the folder below; return False at the top, or if another folder has become the parent."""
        level = self._levels.pop()
        if not self._levels:
            return False
        above = os.open("..", FOLDER, dir_fd=self._fd)
        os.close(self._fd)
        self._fd = above
        if identity(above) != self._levels[-1].identity:
            self._left.append(Leftover(self._path, "another process moved folders in it during the deletion"))
            return False
        try:
            os.rmdir(level.name, dir_fd=above)
        except OSError as error:
            # The remaining entries of the folder are reported already.
            self._skip_name(level.name, error, report=not level.stuck)
        return True

    def _skip_name(self, name: str, error: OSError, *, report: bool = True) -> None:
        """Note that a name is not tried again.

        With `report`, add it to the paths that remain, unless it disappeared meanwhile or enough paths are listed.
        """
        report = report and not isinstance(error, FileNotFoundError)
        self._levels[-1].stuck.add(name)
        if report and len(self._left) < _MOST_REPORTED:
            path = "/".join((self._path, *(level.name for level in self._levels[1:]), name))
            shown = path if len(path) <= _LONGEST else f"{path[:_LONGEST]}…"
            self._left.append(Leftover(shown, describe_error(error)))


def _open_deletable(name: str, folder: int, mount: Mount) -> int:
    """Open a folder, give its owner all permissions if possible, and return its descriptor.

    Raise MountFound if it is the root of another mount, OSError if it cannot be opened.
    """
    try:
        fd = os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        _permit(name, folder, mount)
        fd = os.open(name, FOLDER, dir_fd=folder)
    try:
        if mount_of(fd) != mount:
            raise MountFound(name)
        with suppress(OSError):
            os.fchmod(fd, stat.S_IRWXU)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _permit(name: str, folder: int, mount: Mount) -> None:
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, stat.S_IRWXU, dir_fd=folder, follow_symlinks=False)
        return
    # On Linux, chmod by descriptor changes the folder itself, and never the target of a link.
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if mount_of(fd) != mount:
            raise MountFound(name)
        os.chmod(f"/proc/self/fd/{fd}", stat.S_IRWXU)
    finally:
        os.close(fd)
