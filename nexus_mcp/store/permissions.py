"""Choose the permissions of new files and folders by the folder that they are made in (docs/decisions/0054).

A folder with the setgid bit is shared, as with git's `core.sharedRepository`: what is made in it gives the folder's
group what the folder gives it, whatever the umask is. In any other folder the umask decides, too. Nothing becomes more
open than its folder, and a file that replaces another one keeps that one's permission bits.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    class Parent(Protocol):
        """What this module needs of the open folder (folder.Folder) that a file is made in."""

        def open_as(self, name: str, flags: int, mode: int) -> int: ...
        def look(self, name: str) -> os.stat_result | None: ...
        def unlink(self, name: str) -> None: ...


HAS_MODES = hasattr(os, "fchmod") and hasattr(os, "getegid")
_OWNER, _GROUP, _OTHERS = stat.S_IRWXU, stat.S_IRWXG, stat.S_IRWXO
_READ_WRITE = 0o666
_TRIES = 5  # to open a file that another process makes and removes


class Permissions:
    """The permission bits of a file, and the group that they are for."""

    __slots__ = ("bits", "group")

    def __init__(self, info: os.stat_result) -> None:
        self.bits = stat.S_IMODE(info.st_mode) & 0o777
        self.group = info.st_gid

    def for_group(self, group: int) -> int:
        """The bits where the file belongs to `group`: another group gets what everybody has."""
        if group == self.group:
            return self.bits
        return self.bits & ~_GROUP | (self.bits << 3) & _GROUP


class Copy:
    """For a new file with the content of others: it is no more open than they are.

    A `private` one is its owner's, and the group's where that may write in the folder: it needs the file for recovery.
    """

    __slots__ = ("_sources", "is_private")

    def __init__(self, sources: Iterable[Permissions | None] = (), *, private: bool = True) -> None:
        self._sources = [source for source in sources if source is not None]
        self.is_private = private

    def limit(self, group: int) -> int:
        """The bits that none of the copied files is without, for a file that belongs to `group`."""
        bits = _READ_WRITE
        for source in self._sources:
            bits &= source.for_group(group)
        return bits


PRIVATE = Copy()


def create(folder: Parent, name: str, flags: int, wanted: Permissions | Copy | None) -> int:
    """Open the file `name` in `folder` with `flags`, and make it where it is absent; returns a descriptor.

    `wanted`: the permissions to keep, what the new file copies, or None for any new file. A file that is there keeps
    its own. Raises PathRefused, StorageError, OSError.
    """
    for left in reversed(range(_TRIES)):
        if not flags & os.O_EXCL:
            with suppress(FileNotFoundError):
                return folder.open_as(name, flags & ~os.O_CREAT, 0)
        try:
            return _create(folder, name, flags | os.O_EXCL, wanted)
        except FileExistsError:
            if flags & os.O_EXCL or not left:
                raise
    raise AssertionError


def _create(folder: Parent, name: str, flags: int, wanted: Permissions | Copy | None) -> int:
    if isinstance(wanted, Permissions):
        if not HAS_MODES:
            return folder.open_as(name, flags, _READ_WRITE)
        fd = folder.open_as(name, flags, wanted.bits & _OWNER)
        return _or_closed(folder, name, fd, lambda: _keep(folder, fd, wanted))
    above = folder.look(".") if HAS_MODES else None
    if above is None:
        return folder.open_as(name, flags, _READ_WRITE)
    allowed = _allowed(above) & _READ_WRITE
    if wanted is not None:
        allowed &= wanted.limit(_group(above))
        if wanted.is_private:
            allowed &= _READ_WRITE & (_OWNER | _GROUP if above.st_mode & stat.S_IWGRP else _OWNER)
    fd = folder.open_as(name, flags, allowed | stat.S_IRUSR | stat.S_IWUSR)
    if above.st_mode & stat.S_ISGID:
        return _or_closed(folder, name, fd, lambda: _share(fd, above, allowed))
    return fd


def _or_closed(folder: Parent, name: str, fd: int, settle: Callable[[], None]) -> int:
    """The descriptor, once `settle` has set its permissions; a file for which that fails is removed."""
    try:
        settle()
    except BaseException:
        os.close(fd)
        with suppress(OSError):
            folder.unlink(name)
        raise
    return fd


def bits_of_folder(above: os.stat_result | None) -> int:
    """The bits for a new folder in the folder `above`."""
    return 0o777 if above is None or not HAS_MODES else _OWNER | _allowed(above)


def share_folder(fd: int | None, above: os.stat_result | None) -> None:
    """Give the group of `above` in the new folder `fd` what it has there, where `above` is shared. Raises OSError."""
    if fd is not None and above is not None and HAS_MODES and above.st_mode & stat.S_ISGID:
        _share(fd, above, _allowed(above))


def is_shared(info: os.stat_result) -> bool:
    """Whether a folder is shared by a group that may write in it."""
    return bool(info.st_mode & stat.S_ISGID and info.st_mode & stat.S_IWGRP)


def _group(above: os.stat_result) -> int:
    """The group of a file that is made in the folder `above`."""
    return above.st_gid if above.st_mode & stat.S_ISGID else os.getegid()


def _allowed(above: os.stat_result) -> int:
    """What the folder `above` lets others than the owner do, for a file that is made in it."""
    # Where it belongs to another group, that gets what the folder gives to everybody.
    return Permissions(above).for_group(_group(above))


def _share(fd: int, above: os.stat_result, allowed: int) -> None:
    info = os.fstat(fd)
    bits = stat.S_IMODE(info.st_mode)
    if info.st_gid == above.st_gid:
        shared = bits | allowed & _GROUP
    else:  # a mount that gives files to another group
        shared = bits & ~_GROUP | bits & _GROUP & (allowed & _OTHERS) << 3
    if shared != bits:
        # A mount without permission bits refuses that; the bits that the file has then are those of the mount.
        with suppress(PermissionError):
            os.fchmod(fd, shared)


def _keep(folder: Parent, fd: int, wanted: Permissions) -> None:
    """Give the new file the bits `wanted`, and its group, unless the folder says which that is. Raises OSError,
    StorageError."""
    info = os.fstat(fd)
    bits = wanted.bits
    if info.st_gid != wanted.group:
        above = folder.look(".")
        if above is not None and above.st_mode & stat.S_ISGID and info.st_gid == above.st_gid:
            bits &= ~_GROUP | above.st_mode
        else:
            try:
                os.fchown(fd, -1, wanted.group)
            except OSError:
                bits &= wanted.for_group(info.st_gid)
    if stat.S_IMODE(info.st_mode) != bits:
        os.fchmod(fd, bits)
