"""Whether somebody holds the workspace lock, found out without leaving a trace.

A shared flock on the file that is there, never made, taken without waiting and soon let go: it tells that no writer is
inside a change, and two that look do not stop each other.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import ExitStack, contextmanager

from nexus_mcp.errors import NexusError, PathRefused
from nexus_mcp.store.lock import NAME
from nexus_mcp.store.opening import let_go, reason

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.store.folder import Folder

PATIENCE = 1.0
"""Seconds to wait in all, over a whole run, for a moment without a writer. A change takes milliseconds."""
_POLL = 0.002
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


class LockWatch:
    """What was seen of the lock in one run. `holders`: the pids that it named while held, None where it named none.

    `was_free`: there was a moment without a writer. `trouble`: why nobody can lock it, "" when one can. `hidden`: we
    may not even open it, so nothing is known of it.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._left = patience
        self.holders: set[int | None] = set()
        self.was_free = False
        self.trouble = ""
        self.hidden = False

    @property
    def is_stuck(self) -> bool:
        """Whether, as far as could be seen, one and the same process held it all the time."""
        return len(self.holders) == 1 and not self.was_free

    @contextmanager
    def quiet(self, nexus: Folder) -> Iterator[bool]:
        """Whether nobody is inside a change, for the length of the block, which has to be short: writers wait.

        Waits for such a moment while patience lasts. Where there is no lock, or none that anybody could take, there is
        no writer.
        """
        with ExitStack() as stack:
            try:
                state = nexus.child("state")
            except NexusError:
                state = None  # what stands in its place is told elsewhere
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
                this_time.callback(let_go, fd)
                shared = self._is_shared(fd)
                if self.trouble:
                    return True
                # One that was replaced meanwhile says nothing of whoever holds the new one.
                if shared and state.is_file(NAME, fd):
                    stack.push(this_time.pop_all())
                    return True
            if self._left <= 0:
                return False
            self._left -= _nap()

    def _is_shared(self, fd: int) -> bool:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            self.trouble = "is not a plain file"
            return False
        try:
            _share(fd)
        except (BlockingIOError, PermissionError):  # the second on Windows
            self.holders.add(_named(fd))
            return False
        except OSError as error:
            self.trouble = f"cannot be locked: {reason(error)}"
            return False
        return True


@contextmanager
def held_by_a_process(folder: Folder, name: str) -> Iterator[bool | None]:
    """Whether a living process has locked the file `name`, a marker; None when the file is gone.

    Only in a quiet moment: otherwise one that wants to lock the marker could take our look for its owner.
    """
    try:
        fd = folder.open(name, _READ)
    except (OSError, PathRefused):
        yield None
        return
    try:
        try:
            _share(fd, beyond=True)
            held = False
        except OSError:
            held = True
        yield held if folder.is_file(name, fd) else None
    finally:
        let_go(fd)


def _share(fd: int, *, beyond: bool = False) -> None:
    """Lock the file for reading, without waiting. Raises OSError; PermissionError or BlockingIOError for one held."""
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return
    import msvcrt

    from nexus_mcp.store.journal import HISTORY_LIMIT

    # The byte that the store's own locks are about (lock.py, unanswered.py). Closing the file lets it go.
    os.lseek(fd, HISTORY_LIMIT if beyond else 0, os.SEEK_SET)
    msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)


def _named(fd: int) -> int | None:
    """The pid that the holder left in the file."""
    try:
        return int(os.read(fd, 64))
    except (OSError, ValueError):
        return None


def _nap() -> float:
    """Sleep a moment; the seconds that it took."""
    start = time.monotonic()
    time.sleep(_POLL)
    return time.monotonic() - start
