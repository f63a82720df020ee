"""One exclusive lock per workspace: the file `.nexus/state/lock`.

With flock, where the platform has it (2 µs, and the kernel wakes who waits at once), the file stays when it is let go;
only a first write that fails takes it back, while holding it. Whoever gets a lock looks whether its file is still the
one that others find, so a removed file (git clean) lets nobody in beside another. Without flock, `filelock` polls.

Who waits goes in order, nearly: a lock that is free is whose call comes first, also while others are only just being
woken. One turn of a hundred is passed by a later comer, and nobody was seen to starve (docs/decisions/0007).

There is no weaker fallback: without the lock nothing is written. A new descriptor for each transaction, because a
shared one would let two threads of a process in together.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from nexus_mcp.errors import FolderGone, LockTimeout, StorageError, WaitStopped
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.opening import let_go, reason
from nexus_mcp.store.waiter import queued

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self


NAME = "lock"
WAIT_SECONDS = 10.0
_SIZE = 48  # of what is in the file: a size that stays is no work for the file system
_SETTLED = b"settled "
_LOOK_UP = 0.1  # seconds between looks at whether the server is asked to stop
# What a file system says that has no locks: nobody can hold one there.
_NONE = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})


class Unlockable(StorageError):
    """There are no locks here."""


class Held:
    """The lock while it is held: a context, at the end of which it is let go. `created`: its file was made for it, so
    nothing was ever written here before.

    `orderly` is False until the folders above it are synced and what a dead holder may have left is swept. While it is,
    the file gets back the mark it was found with, so that the next holder knows. `afterwards` is called once: when the
    lock was let go, before the folder is closed, unless `end` was called before.
    """

    __slots__ = ("_fd", "_found", "_settled", "_state", "afterwards", "created", "orderly")

    def __init__(
        self, state: Folder, fd: int | None, *, created: bool, found: bytes | None = None, settled: bytes = b""
    ) -> None:
        """`found` is what was in the file, None if it was left alone; `settled` is left there after an orderly end."""
        self._state = state
        self._fd = fd
        self._found = found
        self._settled = settled
        self.created = created
        self.orderly = found == settled
        self.afterwards: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if self._fd is not None and self._found is not None:
                _unsign(self._fd, self._found, self._settled if self.orderly else self._found)
        finally:
            if self._fd is not None:
                let_go(self._fd)
            self.end()

    def leave_signed(self) -> None:
        """Let the next holder sweep as after one that died: the mark of an orderly end is not written."""
        self._found = None

    def is_ours(self) -> bool:
        """Whether the lock file and its folder are still there; else somebody else may hold a new one."""
        return self._fd is None or (self._state.is_current() and self._state.is_file(NAME, self._fd))

    def end(self) -> None:
        """Do what was left for afterwards, now. Raises what `afterwards` raises."""
        afterwards, self.afterwards = self.afterwards, None
        if afterwards is not None:
            afterwards()

    def check(self) -> None:
        """Raises StorageError when the lock is not ours any more."""
        if not self.is_ours():
            raise StorageError(
                self._state.show(NAME), "keep", "it was removed or replaced meanwhile", next_step="Call again."
            )


def held(
    state: Folder,
    wait: float = WAIT_SECONDS,
    stopped: Callable[[], bool] = bool,
    meanwhile: Callable[[], object] = bool,
) -> Held:
    """Take the workspace lock, whose file lies in the folder `state`, and hold it to the end of a `with` block.

    `meanwhile` is called once when somebody else has it. Without flock neither that nor `stopped` is called. Raises
    LockTimeout after `wait` seconds, with the holder's pid, WaitStopped when `stopped()` becomes true while waiting,
    and StorageError when it cannot be locked at all. The end of the block raises what `afterwards` raises.
    """
    if fcntl is None:
        from nexus_mcp.store.lock_by_package import held_by_package

        return held_by_package(state, wait)
    end = time.monotonic() + wait
    while True:
        fd, created = opened(state)
        try:
            fd = _acquire(fd, state.show(NAME), wait, end, stopped=stopped, meanwhile=meanwhile)
        except Unlockable:
            if created:  # nobody else can have it either
                state.unlink(NAME)
            raise
        try:
            file = _looked_at(state, fd)
            # Whoever removed the file while we waited for it left us with a lock that a newcomer does not see.
            named = state.look(NAME)
            if named is not None and os.path.samestat(named, file):
                return Held(state, fd, created=created, found=_sign(fd, file), settled=settled(file))
        except BaseException:
            let_go(fd)
            raise
        let_go(fd)


def opened(state: Folder) -> tuple[int, bool]:
    """(a descriptor of the lock file, whether it was made for it). Raises FolderGone, StorageError, PathRefused."""
    try:
        for _ in range(2):
            try:
                return state.open(NAME, os.O_RDWR), False
            except FileNotFoundError:
                with suppress(FileExistsError):
                    return state.open(NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL), True
        return state.open(NAME, os.O_RDWR), False
    except FileNotFoundError as error:
        raise FolderGone(state.shown) from error
    except OSError as error:
        raise StorageError(state.show(NAME), "open the lock", reason(error)) from error


def _looked_at(state: Folder, fd: int) -> os.stat_result:
    try:
        file = os.fstat(fd)
    except OSError as error:
        raise StorageError(state.show(NAME), "look at", reason(error)) from error
    if not stat.S_ISREG(file.st_mode):
        state.check_plain(NAME)  # raises, unless it is gone by now
        raise StorageError(state.show(NAME), "lock", "it is not a plain file")
    return file


def _acquire(
    fd: int, shown: str, wait: float, end: float, *, stopped: Callable[[], bool], meanwhile: Callable[[], object]
) -> int:
    """The descriptor that has the lock: `fd`, or another one of the same file. Closes `fd` where it is not that one."""
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            meanwhile()
        except OSError as error:
            raise (Unlockable if error.errno in _NONE else StorageError)(shown, "lock", reason(error)) from error
        try:
            waiter = queued(fd)  # it is woken at once
        except OSError as error:
            raise StorageError(shown, "wait for", reason(error)) from error
        except RuntimeError as error:
            raise StorageError(shown, "wait for", str(error)) from error
    except BaseException:
        let_go(fd)
        raise
    try:
        while not waiter.wait(max(0.0, min(_LOOK_UP, end - time.monotonic()))):
            if stopped():
                raise WaitStopped(shown, "wait for", "this process is asked to stop", next_step="Call again later.")
            if time.monotonic() >= end:
                raise LockTimeout(shown, wait, _holder(waiter.fd))
        if waiter.error is not None:
            raise StorageError(shown, "lock", reason(waiter.error))
    except BaseException:
        waiter.leave()
        raise
    return waiter.fd


def _sign(fd: int, file: os.stat_result) -> bytes | None:
    """Leave our pid in the lock file, for those who wait in vain: what was in it before, None when it was left alone.

    Advice only, so a full disk does not matter. Only in an empty file of one name, or over what we left there (which a
    power cut may have made zeros of): a planted one could be somebody's own.
    """
    try:
        before = os.pread(fd, _SIZE, 0)
        own = before.startswith(_SETTLED) or _pid_in(before) or not before.strip(b"\0 \n")
        if file.st_nlink != 1 or file.st_size > _SIZE or not own:
            return None
        os.pwrite(fd, b"%-*d\n" % (_SIZE - 1, os.getpid()), 0)
    except OSError:
        return None
    return before


def settled(file: os.stat_result) -> bytes:
    """What whoever lets go leaves in the lock file: that the folders on the way to it are on disk, and nobody died.

    It names the file itself, so that a copy of it, or one that came with a repository, vouches for nothing.
    """
    return (_SETTLED + b"%x %x" % (file.st_dev, file.st_ino)).ljust(_SIZE - 1) + b"\n"


def _unsign(fd: int, found: bytes, left: bytes) -> None:
    try:
        os.pwrite(fd, left, 0)
        if not len(found) == len(left) == _SIZE:
            os.ftruncate(fd, len(left))
    except OSError:
        pass


def _holder(fd: int) -> int | None:
    with suppress(OSError):
        return _pid_in(os.pread(fd, _SIZE, 0))
    return None


def _pid_in(text: bytes) -> int | None:
    with suppress(ValueError):
        return int(text)
    return None
