"""One exclusive lock per workspace: the file `.nexus/state/lock`, never deleted.

flock where the platform has it: 2 µs, and waiters are woken by the kernel; `filelock` where it has not. There is no
weaker fallback: without the lock nothing is written. A new descriptor for each transaction, because a shared one
would let two threads of a process in together.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import contextmanager

from nexus_mcp.errors import LockTimeout, StorageError
from nexus_mcp.store.folder import Folder, reason

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "lock"
WAIT_SECONDS = 10.0
_FLAGS = os.O_RDWR | os.O_CREAT


@contextmanager
def held(state: Folder, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the workspace lock, whose file lies in the folder `state`, for the length of the block.

    Raises LockTimeout after `wait` seconds, with the holder's pid, and StorageError when it cannot be locked at all.
    """
    shown = state.show(NAME)
    try:
        fd = state.open(NAME, _FLAGS)
    except OSError as error:
        raise StorageError(shown, "open the lock", reason(error)) from error
    if fcntl is None:
        os.close(fd)
        with _held_by_package(os.path.join(state.path, NAME), shown, wait):
            yield
        return
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise StorageError(shown, "lock", "it is not a plain file")
        _acquire(fd, shown, wait)
        _sign(fd)
        yield
    finally:
        os.close(fd)


def _acquire(fd: int, shown: str, wait: float) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    except OSError as error:
        raise StorageError(shown, "lock", reason(error)) from error
    # A blocking flock is woken at once and in order, but knows no time limit: a thread waits in our place, with a
    # duplicate of its own. Both descriptors are of one lock, so whichever is closed last lets it go.
    duplicate = os.dup(fd)
    outcome: list[OSError | None] = []
    done = threading.Event()

    def wait_for_it() -> None:
        try:
            fcntl.flock(duplicate, fcntl.LOCK_EX)
            outcome.append(None)
        except OSError as error:
            outcome.append(error)
        done.set()
        os.close(duplicate)

    threading.Thread(target=wait_for_it, name="nexus-lock", daemon=True).start()
    done.wait(wait)
    if not outcome:
        raise LockTimeout(shown, wait, _holder(fd))
    if outcome[0] is not None:
        raise StorageError(shown, "lock", reason(outcome[0]))


def _sign(fd: int) -> None:
    """Leave our pid in the lock file, for those who wait in vain. Advice only, so a full disk does not matter."""
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        return


def _holder(fd: int) -> int | None:
    try:
        text = os.pread(fd, 32, 0)
        return int(text)
    except (OSError, ValueError):
        return None


@contextmanager
def _held_by_package(path: str, shown: str, wait: float) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(path, timeout=wait, thread_local=False)
    try:
        lock.acquire(poll_interval=0.005)
    except filelock.Timeout as error:
        raise LockTimeout(shown, wait, None) from error
    except OSError as error:
        raise StorageError(shown, "lock", reason(error)) from error
    try:
        yield
    finally:
        lock.release()
