"""Detect a holder of the workspace lock, without creating or changing a file.

Doctor takes a lock on the lock file, if that exists, and releases it soon, because no process can begin a change
meanwhile. Where flock exists, this lock is shared, so that two runs of doctor do not block each other.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import ExitStack, contextmanager

from nexus_mcp.errors import NexusError, PathRefused
from nexus_mcp.store.folder import close_fd, reason
from nexus_mcp.store.lock import NAME

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.store.folder import Folder

PATIENCE_S = 1.0
"""Seconds that one run waits in all, at most, for moments without a writer. A change takes milliseconds."""
_POLL = 0.002
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


class LockWatch:
    """Observations of the lock in one run.

    `holders`: the pids read from the locked file, None for a pid that cannot be read. `was_free`: there was a moment
    without a writer. `trouble`: why the file cannot be locked, "" when nothing prevents that. `hidden`: the file cannot
    be opened, so the state of the lock is unknown.
    """

    def __init__(self, patience: float = PATIENCE_S) -> None:
        self._left = patience
        self.holders: set[int | None] = set()
        self.was_free = False
        self.trouble = ""
        self.hidden = False

    @property
    def is_stuck(self) -> bool:
        """Return whether the same process held the lock at every attempt."""
        return len(self.holders) == 1 and not self.was_free

    @contextmanager
    def quiet(self, nexus: Folder) -> Iterator[bool]:
        """Keep writers out for the length of the block, which has to be short. Yield whether that succeeded.

        All waits of a run together take at most about `patience` seconds. Yield True also without a lock file, or with
        one that cannot be locked: then no process is writing, but the block keeps no writer out.
        """
        with ExitStack() as stack:
            try:
                state = nexus.child("state")
            except NexusError:
                state = None  # the checks of files report it
            free = state is None or self._is_free(stack.enter_context(state), stack)
            self.was_free = self.was_free or free
            yield free

    def _is_free(self, state: Folder, stack: ExitStack) -> bool:
        while True:
            with ExitStack() as this_time:
                try:
                    fd = state.open(NAME, _READ)
                except FileNotFoundError:
                    return True
                except PathRefused as error:
                    self.trouble = error.problem
                    return True
                except OSError:
                    self.hidden = True
                    return False
                this_time.callback(close_fd, fd)
                shared = self._is_shared(fd)
                if self.trouble:
                    return True
                # A lock on a file that was replaced meanwhile says nothing about the new file.
                if shared and state.is_file(NAME, fd):
                    stack.push(this_time.pop_all())
                    return True
            if self._left <= 0:
                return False
            self._left -= _nap()

    def _is_shared(self, fd: int) -> bool:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            self.trouble = "is not a regular file"
            return False
        try:
            _lock_shared(fd)
        except (BlockingIOError, PermissionError):  # PermissionError: on Windows
            self.holders.add(_read_pid(fd))
            return False
        except OSError as error:
            self.trouble = f"cannot be locked: {reason(error)}"
            return False
        return True


@contextmanager
def watch_holder(folder: Folder, name: str) -> Iterator[bool | None]:
    """Yield whether a live process has locked the receipt `name`; None when the file is gone, was replaced or cannot be
    opened. Raise StorageError.

    Call this while writers are locked out: otherwise another process could mistake our lock on the receipt for that of
    the process that closes.
    """
    try:
        fd = folder.open(name, _READ)
    except (OSError, PathRefused):
        yield None
        return
    try:
        try:
            _lock_shared(fd, beyond=True)
            held = False
        except OSError:
            held = True
        yield held if folder.is_file(name, fd) else None
    finally:
        close_fd(fd)


def _lock_shared(fd: int, *, beyond: bool = False) -> None:
    """Take a shared lock without waiting (on Windows, an exclusive one).

    Raise PermissionError or BlockingIOError when another process has locked the file, another OSError when the file
    cannot be locked. On Windows, `beyond` locks the byte that receipts use.
    """
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return
    import msvcrt

    from nexus_mcp.store.journal import HISTORY_LIMIT

    # Lock the same byte as the store (lock.py, close_receipt.py). Closing the file releases it.
    os.lseek(fd, HISTORY_LIMIT if beyond else 0, os.SEEK_SET)
    msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)


def _read_pid(fd: int) -> int | None:
    """Return the pid that the holder wrote into the file, None when there is none."""
    try:
        return int(os.read(fd, 64))
    except (OSError, ValueError):
        return None


def _nap() -> float:
    """Sleep for a moment. Return the seconds that it took."""
    start = time.monotonic()
    time.sleep(_POLL)
    return time.monotonic() - start
