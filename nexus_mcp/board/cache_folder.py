"""Make the temporary folder of a board, and remove those that killed boards left.

On POSIX, a board locks a file in its folder for as long as it runs. The system releases the lock when the process
ends, also after SIGKILL. So a folder whose lock is free belongs to no running board. A process id in a file would not
show this, because a later process may get the same id.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "nexus-board-"
LOCK = "lock"
_TRIES = 10
_OWN = stat.S_IRWXU
"""The mode of a folder that tempfile makes: other users cannot add or replace files in it."""


@contextmanager
def cache_folder() -> Iterator[str]:
    """Yield a new, empty folder of this user, and remove it at the end. On POSIX, first remove the folders of killed
    boards. Raise OSError if the folder cannot be made.
    """
    if os.name != "posix":  # no flock: the folder of a killed board stays until the system cleans up
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
            yield folder
        return
    remove_left_folders()
    base, held = _make()
    try:
        folder = os.path.join(base, "cache")
        os.mkdir(folder, _OWN)
        yield folder
    finally:
        shutil.rmtree(base, ignore_errors=True)
        os.close(held)


def _make() -> tuple[str, int]:
    """Return (a new folder, the descriptor of the locked file in it). Raise OSError."""
    for _ in range(_TRIES):
        base = tempfile.mkdtemp(prefix=PREFIX)
        held = os.open(os.path.join(base, LOCK), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            is_ours = _take(held)
        except OSError:  # this file system has no locks, so no other board can lock the file either
            is_ours = True
        if is_ours:
            return base, held
        os.close(held)  # another board saw the file before it was locked, and is removing the folder
    raise FileExistsError("Another process keeps removing the temporary folder.")


def remove_left_folders() -> None:
    """Remove the folders whose board was killed. Never raises OSError: a folder that cannot be removed stays.

    A folder of another user or with another mode than _OWN, a link, and a folder without the lock file stay, too.
    """
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                with suppress(OSError):
                    _remove_if_left(entry.path)


def _remove_if_left(path: str) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        seen = os.fstat(folder)
        if seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) != _OWN:
            return
        held = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISREG(os.fstat(held).st_mode) and _take(held):
                shutil.rmtree(path)
        finally:
            os.close(held)
    finally:
        os.close(folder)


def _take(held: int) -> bool:
    """Lock the open file, and return True; return False if another process holds the lock. Raise OSError."""
    import fcntl

    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
