"""Delete what stands in a folder: by descriptors, so that no link and no mount is ever entered, and to any depth."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from nexus_mcp.conformance import halting
from nexus_mcp.conformance.result import Left
from nexus_mcp.conformance.trial.anchor import FOLDER, identity
from nexus_mcp.conformance.trial.mounts import Mount, mount_of

_AT_ONCE = 1000
"""Entries of a folder that are held in memory: a target can make millions of them."""
_TOLD = 5
_LONGEST = 400
MOUNTED = "something is mounted there"
_WORDS = {errno.EBUSY: MOUNTED, errno.EPERM: "it may not be deleted, as if it were immutable (lsattr shows that)"}


class Mounted(OSError):
    """A folder is the root of another mount."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.EBUSY, MOUNTED, name)


@dataclass
class _Level:
    """A folder on the way down. `folders` are still to be entered; `stuck` are names that could not be deleted."""

    name: str
    identity: tuple[int, int]
    folders: list[str] = field(default_factory=list)
    stuck: set[str] = field(default_factory=set)


def remove_at(folder: int, name: str) -> None:
    """Deletes the file, the link itself or the folder `name` in an open folder. What is gone is no error.

    Raises OSError when it remains, Halted when the work has to stop.
    """
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    inside = _entered(name, folder, mount_of(folder))
    try:
        empty(inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=folder)


def empty(top: int, path: str = "") -> list[Left]:
    """Deletes all that is in an open folder, as far as that can be done, and returns the first things that remain.

    `path` is what the folder is called in them. Raises Halted when the work has to stop. One descriptor at a time, and
    no recursion: a target can leave folders nested deeper than both would bear.
    """
    left: list[Left] = []
    try:
        os.fchmod(top, stat.S_IMODE(os.fstat(top).st_mode) | stat.S_IRWXU)
        _Descent(top, path, left).run()
    except OSError as error:
        left.append(Left(path, reason(error)))
    return left


def reason(error: OSError) -> str:
    """Why something cannot be deleted, in words."""
    return _WORDS.get(error.errno or 0) or error.strerror or str(error)


class _Descent:
    def __init__(self, top: int, path: str, left: list[Left]) -> None:
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
                halting.check()
                level = self._levels[-1]
                if level.folders:
                    self._enter(level.folders.pop())
                elif not self._delete_files(level) and not self._leave():
                    return
        finally:
            os.close(self._fd)

    def _enter(self, name: str) -> None:
        try:
            below = _entered(name, self._fd, self._mount)
        except OSError as error:
            self._stuck(name, error)
            return
        os.close(self._fd)
        self._fd = below
        self._levels.append(_Level(name, identity(below)))

    def _delete_files(self, level: _Level) -> bool:
        """Deletes the next files and notes the next folders; False when there is nothing more to do."""
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
                self._stuck(name, error)
        return bool(entries)

    def _leave(self) -> bool:
        """Goes up and deletes the folder that it came from; False at the top, or when nobody knows where this is."""
        gone = self._levels.pop()
        if not self._levels:
            return False
        above = os.open("..", FOLDER, dir_fd=self._fd)
        os.close(self._fd)
        self._fd = above
        if identity(above) != self._levels[-1].identity:
            self._left.append(Left(self._path, "somebody moved folders in it while they were deleted"))
            return False
        try:
            os.rmdir(gone.name, dir_fd=above)
        except OSError as error:
            # What remains in it was told already.
            self._stuck(gone.name, error, tell=not gone.stuck)
        return True

    def _stuck(self, name: str, error: OSError, *, tell: bool = True) -> None:
        """Notes that a name is not tried again, and tells of it unless it went by itself meanwhile."""
        tell = tell and not isinstance(error, FileNotFoundError)
        self._levels[-1].stuck.add(name)
        if tell and len(self._left) < _TOLD:
            path = "/".join((self._path, *(level.name for level in self._levels[1:]), name))
            shown = path if len(path) <= _LONGEST else f"{path[:_LONGEST]}…"
            self._left.append(Left(shown, reason(error)))


def _entered(name: str, folder: int, mount: Mount) -> int:
    """A folder opened so that all in it can be deleted. Raises Mounted when it is on another file system."""
    try:
        fd = os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        _permit(name, folder, mount)
        fd = os.open(name, FOLDER, dir_fd=folder)
    try:
        if mount_of(fd) != mount:
            raise Mounted(name)
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
    # Linux changes the mode of what stands there, and not of what a link leads to, only by way of a descriptor.
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if mount_of(fd) != mount:
            raise Mounted(name)
        os.chmod(f"/proc/self/fd/{fd}", stat.S_IRWXU)
    finally:
        os.close(fd)
