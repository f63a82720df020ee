"""Waiting for a lock no longer than one wants to: flock waits for ever, so a thread does it in our place.

A thread that waited in vain cannot be called back before the holder lets go. It keeps its place in the queue, and the
next one in this process who waits for the same file takes that place: so however often a wait is in vain, there are no
more threads and descriptors than there ever were waits at once.
"""

from __future__ import annotations

import os
import threading

from nexus_mcp.store.folder import let_go

THREAD = "nexus-lock"

_guard = threading.Lock()
_left: dict[tuple[int, int], list[Waiter]] = {}
"""Those whose wait was in vain, by device and inode of the file."""


class Waiter:
    """A place in the queue for the lock on a file. `fd` has the lock, unless `error` tells why not, after `wait`."""

    __slots__ = ("_ended", "_file", "_under_way", "error", "fd")

    def __init__(self, fd: int, file: tuple[int, int]) -> None:
        self.fd = fd
        self.error: OSError | None = None
        self._file = file
        self._ended = False
        self._under_way = threading.Lock()  # an Event would wake whoever waits later
        self._under_way.acquire()

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

    def _queue(self) -> None:
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


def queued(fd: int) -> Waiter:
    """A place in the queue for the lock on the open file `fd`, which is the waiter's from now on.

    Raises OSError, and RuntimeError when there is no thread to be had: then `fd` is the caller's still.
    """
    about = os.fstat(fd)
    file = about.st_dev, about.st_ino
    with _guard:
        waiter = _taken_from(_left[file]) if file in _left else None
    if waiter is not None:
        let_go(fd)
        return waiter
    waiter = Waiter(fd, file)
    threading.Thread(target=waiter._queue, name=THREAD, daemon=True).start()
    return waiter


def _taken_from(left: list[Waiter], waiter: Waiter | None = None) -> Waiter:
    """`waiter`, or the first of `left`, who no longer is one of them."""
    taken = left.pop(0 if waiter is None else left.index(waiter))
    if not left:
        del _left[taken._file]
    return taken
