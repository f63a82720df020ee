"""One exclusive lock per workspace: the file `.nexus/state/lock`.

Where the platform has flock, locking takes 2 µs, and the kernel wakes a waiting process at once. The file stays after
the release. If the first write in a project fails, the file is removed again before the release. Another program may
remove the file (git clean), and a later process then locks a new file. So a process checks that its file still has the
name `lock`: after it took the lock, and before it writes (HeldLock.check). Without flock, `filelock` polls.

Waiting processes are served nearly in order: a free lock goes to the first call that requests it, even while the kernel
wakes waiting ones. In about one turn of a hundred a later call overtakes an earlier one; no call was seen to starve
(docs/decisions/0007).

flock has no timeout, so a separate thread waits. A thread whose caller gave up cannot be interrupted: it keeps its
place in the queue, and the next wait of this process for the same file takes over that place. So for each file the
number of waiting threads and their descriptors never exceeds the largest number of simultaneous waits. An idle thread
stays for IDLE seconds: starting one takes long enough to lose a place in the queue.

There is no weaker fallback: without the lock no change is made. Each transaction opens a new descriptor, because a
shared one would let two threads of a process hold the lock together.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from _thread import allocate_lock
from contextlib import suppress

from nexus_mcp.errors import FolderGone, LockTimeout, StorageError, WaitStopped
from nexus_mcp.store.folder import Folder, close_fd, reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Lock
    from types import TracebackType
    from typing import Self

    import filelock

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


NAME = "lock"
WAIT_SECONDS = 10.0
_SIZE = 48  # bytes of the content: a constant size saves work of the file system
_CLEAN = b"settled "
_STOP_CHECK_S = 0.1  # seconds between checks for a stop of the server
# Errors of a file system without locks: no process can lock a file there.
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})


class Unlockable(StorageError):
    """The file system has no locks."""


class HeldLock:
    """The held lock: a context manager that releases it. `created`: this call created its file.

    `orderly` is False until the folders above the file are synced and leftovers of a dead holder are deleted. Until
    then the release restores the earlier content of the file, for the next holder. `afterwards` is called once: after
    the release and before the folder is closed, unless `end` was called before.
    """

    __slots__ = ("_fd", "_found", "_settled", "_state", "afterwards", "created", "orderly")

    def __init__(
        self, state: Folder, fd: int | None, *, created: bool, found: bytes | None = None, settled: bytes = b""
    ) -> None:
        """`found` is the earlier content of the file, None if it was not written to; `settled` is its content after an
        orderly end.
        """
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
                close_fd(self._fd)
            self.end()

    def leave_signed(self) -> None:
        """Let the next holder delete leftovers as after a dead holder: do not write the mark of an orderly end."""
        self._found = None

    def is_ours(self) -> bool:
        """Return whether the lock file and its folder are still there; else another process may hold a new one.

        Without flock, always return True.
        """
        return self._fd is None or self._state.is_file(NAME, self._fd, in_place=True)

    def end(self) -> None:
        """Call `afterwards` now. Raise its errors."""
        afterwards, self.afterwards = self.afterwards, None
        if afterwards is not None:
            afterwards()

    def check(self) -> None:
        """Raise StorageError if the lock is not ours any more."""
        if not self.is_ours():
            raise StorageError(
                self._state.show(NAME), "keep", "it was removed or replaced meanwhile", next_step="Call again."
            )


def acquire(
    state: Folder,
    wait: float = WAIT_SECONDS,
    stopped: Callable[[], bool] = bool,
    meanwhile: Callable[[], object] = bool,
) -> HeldLock:
    """Take the workspace lock in the folder `state`, and hold it to the end of a `with` block.

    `meanwhile` is called before a wait, which begins if another call holds the lock. Without flock neither `meanwhile`
    nor `stopped` is called. Raise LockTimeout after `wait` seconds, with the holder's pid if it is known, WaitStopped
    if `stopped()` becomes true while waiting, FolderGone if `state` was removed, and PathRefused or StorageError if the
    file cannot be locked at all. The end of the block raises the errors of `afterwards`.
    """
    if fcntl is None:
        return acquire_with_filelock(state, wait)
    end = time.monotonic() + wait
    while True:
        fd, created = open_file(state)
        try:
            fd = _flock(fd, state, wait, end, stopped=stopped, meanwhile=meanwhile)
        except Unlockable:
            if created:  # no other process can have the lock either
                state.unlink(NAME)
            raise
        try:
            file = _check_file(state, fd)
            # If the file was removed while we waited, we hold a lock that a newcomer does not see.
            named = state.look(NAME)
            if named is not None and os.path.samestat(named, file):
                return HeldLock(state, fd, created=created, found=_sign(fd, file), settled=clean_mark(file))
        except BaseException:
            close_fd(fd)
            raise
        close_fd(fd)


def open_file(state: Folder) -> tuple[int, bool]:
    """Return (a descriptor of the lock file, whether this call created the file). Raise FolderGone, StorageError,
    PathRefused.
    """
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


def _check_file(state: Folder, fd: int) -> os.stat_result:
    try:
        file = os.fstat(fd)
    except OSError as error:
        raise StorageError(state.show(NAME), "look at", reason(error)) from error
    if not stat.S_ISREG(file.st_mode):
        state.check_plain(NAME)  # raises, unless the file was replaced or removed meanwhile
        raise StorageError(state.show(NAME), "lock", "it is not a plain file")
    return file


def _flock(
    fd: int, state: Folder, wait: float, end: float, *, stopped: Callable[[], bool], meanwhile: Callable[[], object]
) -> int:
    """Return the descriptor that has the lock: `fd`, or another one of the same file; then `fd` is closed."""
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            meanwhile()
        except OSError as error:
            kind = Unlockable if error.errno in _NO_LOCKS else StorageError
            raise kind(state.show(NAME), "lock", reason(error)) from error
        shown = state.show(NAME)
        try:
            waiter = join_queue(fd)  # the kernel wakes the waiting thread at once
        except OSError as error:
            raise StorageError(shown, "wait for", reason(error)) from error
        except RuntimeError as error:
            raise StorageError(shown, "wait for", str(error)) from error
    except BaseException:
        close_fd(fd)
        raise
    try:
        while not waiter.wait(max(0.0, min(_STOP_CHECK_S, end - time.monotonic()))):
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
    """Write our pid into the lock file, for the error of a call that times out.

    Return the earlier content, None if the file was not written to. The pid is only a hint, so a failed write is
    ignored. The pid is written only into a file without hard links that is empty or has our own content (which a power
    cut may have turned into zeros). Any other file may belong to a user.
    """
    try:
        before = os.pread(fd, _SIZE, 0)
        own = before.startswith(_CLEAN) or _pid_in(before) or not before.strip(b"\0 \n")
        if file.st_nlink != 1 or file.st_size > _SIZE or not own:
            return None
        os.pwrite(fd, b"%-*d\n" % (_SIZE - 1, os.getpid()), 0)
    except OSError:
        return None
    return before


def clean_mark(file: os.stat_result) -> bytes:
    """Return the content of the lock file after an orderly end: a mark which says that the folders above the file are
    synced, and that no leftovers of a dead holder remain.

    The mark names the lock file, so that a copied mark, or one from a repository, is not trusted.
    """
    return (_CLEAN + b"%x %x" % (file.st_dev, file.st_ino)).ljust(_SIZE - 1) + b"\n"


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


THREAD = "nexus-lock"
IDLE = 1.0
"""Seconds that an idle thread stays."""

_guard = allocate_lock()
_abandoned: dict[tuple[int, int], list[Waiter]] = {}
"""Waiters whose caller gave up, by device and inode of the file."""
_idle: list[_WaitThread] = []


class Waiter:
    """A place in the queue for the lock on a file. After `wait` returned True, `fd` has the lock, or `error` is set."""

    __slots__ = ("_ended", "_file", "_under_way", "error", "fd")

    def __init__(self, fd: int, file: tuple[int, int]) -> None:
        self.fd = fd
        self.error: OSError | None = None
        self._file = file
        self._ended = False
        self._under_way = _new_locked()

    def wait(self, seconds: float) -> bool:
        """Return whether the wait ended within `seconds`; do not call it again after that."""
        return self._under_way.acquire(timeout=seconds)

    def leave(self) -> None:
        """Give the place up: the next wait may take it over. Otherwise the lock is released as soon
        as it is granted.
        """
        with _guard:
            if not self._ended:
                _abandoned.setdefault(self._file, []).append(self)
                return
        close_fd(self.fd)

    def queue(self) -> None:
        """Wait for the lock without limit. A thread of this module calls it."""
        import fcntl

        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        except OSError as error:
            self.error = error
        with _guard:
            unwanted = _abandoned.get(self._file, [])
            if self not in unwanted:
                self._ended = True
                self._under_way.release()
                return
            _remove_waiter(unwanted, self)
        close_fd(self.fd)


class _WaitThread:
    """A thread that waits for one Waiter after the other."""

    __slots__ = ("_called", "_waiter")

    _waiter: Waiter

    def __init__(self) -> None:
        self._called = _new_locked()

    def call(self, waiter: Waiter) -> None:
        """Let the thread wait for `waiter`. Only the caller that took the thread from `_idle` or made it may do so."""
        self._waiter = waiter
        self._called.release()

    def run(self) -> None:
        """Wait for each Waiter passed to `call`, until none comes for IDLE seconds."""
        while self._is_called():
            self._waiter.queue()
            with _guard:
                _idle.append(self)

    def _is_called(self) -> bool:
        if self._called.acquire(timeout=IDLE):
            return True
        with _guard:
            if self in _idle:
                _idle.remove(self)
                return False
        return self._called.acquire()  # a caller has just taken the thread from `_idle`


def join_queue(fd: int) -> Waiter:
    """Return a place in the queue for the lock on the open file `fd`: an abandoned place, then `fd` is closed; or a new
    place, to which `fd` then belongs.

    Raise OSError, and RuntimeError if no thread can be started: then `fd` still belongs to the caller.
    """
    about = os.fstat(fd)
    file = about.st_dev, about.st_ino
    with _guard:
        waiter = _remove_waiter(_abandoned[file]) if file in _abandoned else None
        line = _idle.pop() if waiter is None and _idle else None
    if waiter is not None:
        close_fd(fd)
        return waiter
    if line is None:
        line = _WaitThread()
        import threading  # imported late: most locks are free, and a hook pays for its imports

        threading.Thread(target=line.run, name=THREAD, daemon=True).start()
    waiter = Waiter(fd, file)
    line.call(waiter)
    return waiter


def _remove_waiter(left: list[Waiter], waiter: Waiter | None = None) -> Waiter:
    """Remove `waiter`, by default the first one, from `left`, and return it."""
    taken = left.pop(0 if waiter is None else left.index(waiter))
    if not left:
        del _abandoned[taken._file]
    return taken


def _new_locked() -> Lock:
    lock = allocate_lock()
    lock.acquire()
    return lock


def _reset_after_fork() -> None:
    """Close the descriptors of abandoned waiters in a forked process, which lacks their threads: the copies of these
    descriptors would keep a lock that the parent process releases.
    """
    global _guard  # noqa: PLW0603 - the thread that holds it does not exist in the fork
    _guard = allocate_lock()
    for left in _abandoned.values():
        for waiter in left:
            close_fd(waiter.fd)
    _abandoned.clear()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


class FilelockLock(HeldLock):
    """The workspace lock where flock is missing. Nothing is written into its file."""

    __slots__ = ("_lock",)

    def __init__(self, state: Folder, lock: filelock.BaseFileLock, *, created: bool) -> None:
        super().__init__(state, None, created=created)
        self._lock = lock

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._lock.release()
        finally:
            super().__exit__(kind, error, at)


def acquire_with_filelock(state: Folder, wait: float) -> FilelockLock:
    """Take the lock like `acquire`. Raise LockTimeout after `wait` seconds, PathRefused, StorageError."""
    import filelock

    fd, created = open_file(state)
    close_fd(fd)
    shown = state.show(NAME)
    ours = filelock.FileLock(os.path.join(state.path, NAME), timeout=wait, thread_local=False)
    try:
        ours.acquire(poll_interval=0.005)
    except filelock.Timeout as error:
        raise LockTimeout(shown, wait, None) from error
    except OSError as error:
        raise StorageError(shown, "lock", reason(error)) from error
    return FilelockLock(state, ours, created=created)
