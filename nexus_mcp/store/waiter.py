"""Waiting for a lock no longer than one wants to: flock waits for ever, so a thread does it in our place.

A thread that waited in vain cannot be called back before the holder lets go. It keeps its place in the queue, and the
next one in this process who waits for the same file takes that place: so however often a wait is in vain, there are no
more threads and descriptors than there ever were waits at once. A thread whose wait is over stays for a moment: where
many write, the next wait comes at once, and while a thread begins, others get in line (docs/decisions/0007).
"""

from __future__ import annotations

import os
import threading

from nexus_mcp.store.opening import let_go

THREAD = "nexus-lock"
IDLE = 1.0
"""Seconds that a thread stays when there is nothing to wait for."""

_guard = threading.Lock()
_left: dict[tuple[int, int], list[Waiter]] = {}
"""Those whose wait was in vain, by device and inode of the file."""
_idle: list[_Line] = []


class Waiter:
    """A place in the queue for the lock on a file. `fd` has the lock, unless `error` tells why not, after `wait`."""

    __slots__ = ("_ended", "_file", "_under_way", "error", "fd")

    def __init__(self, fd: int, file: tuple[int, int]) -> None:
        self.fd = fd
        self.error: OSError | None = None
        self._file = file
        self._ended = False
        self._under_way = _taken_lock()

    def wait(self, seconds: float) -> bool:
        """Whether it is over, within `seconds`; asked no more once it is."""
        return self._under_way.acquire(timeout=seconds)

    def leave(self) -> None:
        """Nobody wants the lock any more: who comes next may have the place; once it comes, it is let go."""
        with _guard:
            if not self._ended:
                _left.setdefault(self._file, []).append(self)
                return
        let_go(self.fd)

    def queue(self) -> None:
        """Wait for the lock, however long that takes."""
        import fcntl

        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        except OSError as error:
            self.error = error
        with _guard:
            unwanted = _left.get(self._file, [])
            if self not in unwanted:
                self._ended = True
                self._under_way.release()
                return
            _taken_from(unwanted, self)
        let_go(self.fd)


class _Line:
    """A thread that waits for one after the other."""

    __slots__ = ("_called", "_waiter")

    _waiter: Waiter

    def __init__(self) -> None:
        self._called = _taken_lock()

    def call(self, waiter: Waiter) -> None:
        """Let it wait for the next one. Only for who took it out of the idle ones, or made it."""
        self._waiter = waiter
        self._called.release()

    def run(self) -> None:
        """What the thread does."""
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
        return self._called.acquire()  # by who took it just now


def queued(fd: int) -> Waiter:
    """A place in the queue for the lock on the open file `fd`, which is the waiter's from now on.

    Raises OSError, and RuntimeError when there is no thread to be had: then `fd` is the caller's still.
    """
    about = os.fstat(fd)
    file = about.st_dev, about.st_ino
    with _guard:
        waiter = _taken_from(_left[file]) if file in _left else None
        line = _idle.pop() if waiter is None and _idle else None
    if waiter is not None:
        let_go(fd)
        return waiter
    if line is None:
        line = _Line()
        threading.Thread(target=line.run, name=THREAD, daemon=True).start()
    waiter = Waiter(fd, file)
    line.call(waiter)
    return waiter


def _taken_from(left: list[Waiter], waiter: Waiter | None = None) -> Waiter:
    """`waiter`, or the first of `left`, who no longer is one of them."""
    taken = left.pop(0 if waiter is None else left.index(waiter))
    if not left:
        del _left[taken._file]
    return taken


def _taken_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _begin_anew() -> None:
    """In a fork there are none of these threads; what they have open would keep their locks from all others."""
    global _guard  # noqa: PLW0603 - who had it is not here to let it go
    _guard = threading.Lock()
    for left in _left.values():
        for waiter in left:
            let_go(waiter.fd)
    _left.clear()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
