"""Exchange a folder or file of the project with a link, and back."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Callable

_EXCHANGE = 2
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
PARKED = ".parked"  # the name of the one that is not in place
_THIRD = ".third"


def at_once(fd: int, name: str) -> None:
    """Exchange `name` and its parked counterpart in the folder `fd` atomically: `name` always exists."""
    assert _renameat2 is not None
    old, new = os.fsencode(name), os.fsencode(name + PARKED)
    if _renameat2(fd, old, fd, new, _EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


def one_by_one(fd: int, name: str) -> None:
    """Do the same by renames: for a moment the name is free, and another process may take it.

    The file to move may also be gone: a write that fails removes the folders and files that it had made.
    """
    _move(fd, name, name + _THIRD)
    _move(fd, name + PARKED, name)
    _move(fd, name + _THIRD, name + PARKED)


def _move(fd: int, old: str, new: str) -> None:
    while True:
        try:
            return os.rename(old, new, src_dir_fd=fd, dst_dir_fd=fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR):
                raise
            shutil.rmtree(new, ignore_errors=True, dir_fd=fd)


def can_exchange(fd: int) -> bool:
    """Return whether this system and the file system of the folder `fd` can exchange names."""
    if _renameat2 is None:
        return False
    for name in ("one", "one" + PARKED):
        os.mkdir(name, dir_fd=fd)
    try:
        at_once(fd, "one")
    except OSError:
        return False
    finally:
        for name in ("one", "one" + PARKED):
            os.rmdir(name, dir_fd=fd)
    return True


Swap = Callable[[int, str], None]
