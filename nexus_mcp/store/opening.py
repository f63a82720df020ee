"""How the store opens files and folders: no link is followed, no pipe waited for, and no time of access noted.

The file system would note one at the first reading after each change, which is a write that the next sync waits for.
Linux lets the owner of a file do without (open(2), O_NOATIME). Who owns one of the files only goes on with such times.
"""

from __future__ import annotations

import errno
import os

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
FILE = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | _CLOEXEC  # a pipe of that name must not keep us waiting

_undated = [getattr(os, "O_NOATIME", 0)]


def folder(name: str, within: int | None = None) -> int:
    """A descriptor of the folder `name`, in the one with the descriptor `within`. Raises OSError."""
    try:
        return os.open(name, _FOLDER | _undated[0], dir_fd=within)
    except PermissionError as error:
        if not _dated_from_now_on(error):
            raise
    return folder(name, within)


def file(name: str, flags: int, mode: int, within: int | None) -> int:
    """A descriptor of the file `name`, in the same way. Raises OSError."""
    if flags & os.O_CREAT:  # what is made may come to belong to somebody else (CIFS), and would be left when refused
        return os.open(name, flags | FILE, mode, dir_fd=within)
    try:
        return os.open(name, flags | FILE | _undated[0], mode, dir_fd=within)
    except PermissionError as error:
        if not _dated_from_now_on(error):
            raise
    return file(name, flags, mode, within)


def _dated_from_now_on(error: PermissionError) -> bool:
    """Whether `error` may be what others than the owner are told. Then nobody asks for that any more."""
    if error.errno != errno.EPERM or not _undated[0]:
        return False
    _undated[0] = 0
    return True
