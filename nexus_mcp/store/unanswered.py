"""The marker of a close whose answer has not gone out yet: `state/closed-<id>.json`, the applied journal itself.

It is removed once the answer was written out. When the process dies before, the marker stays behind, and the next
task_close that finds nothing open answers with what it holds, once: a client that retries gets its answer and no
second cycle. While its process lives the marker is locked, so that nobody else takes it for a left one.
"""

from __future__ import annotations

import os

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.store.codec import ARCHIVE_DEPTH, decode
from nexus_mcp.store.journal import HISTORY_LIMIT, is_ours

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from nexus_mcp.store.folder import Folder

    OpenState = Callable[[], AbstractContextManager[Folder | None]]

PREFIX = "closed-"


def name_of(journal_id: str) -> str:
    """The marker's file name."""
    return f"{PREFIX}{journal_id}.json"


class Unanswered:
    """A marker that this process holds until its answer was written out, or never will be."""

    __slots__ = ("_fd", "_name", "_open_state")

    def __init__(self, name: str, fd: int | None, open_state: OpenState) -> None:
        self._name = name
        self._fd = fd
        self._open_state = open_state

    def delivered(self) -> None:
        """The answer is out: the marker goes. Failing to remove it costs no more than one repeated answer."""
        self.undelivered()
        try:
            with self._open_state() as state:
                if state is not None:
                    state.unlink(self._name)
        except (OSError, NexusError) as error:
            log.warning(f"could not remove {self._name}: {error}")

    def undelivered(self) -> None:
        """The answer will never be read: leave the marker for whoever asks again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def held(state: Folder, name: str, open_state: OpenState) -> Unanswered:
    """Hold the marker of a close that has just been applied. Never raises: the close is done and must be answered."""
    try:
        fd = _locked(state, name)
    except (OSError, NexusError) as error:
        log.warning(f"could not lock {name}: {error}")
        fd = None
    return Unanswered(name, fd, open_state)


def left_behind(state: Folder, open_state: OpenState) -> list[tuple[dict[str, Any], Unanswered]]:
    """(journal, marker) of each close whose process is gone; they are held now. Raises OSError and NexusError.

    Files of such a name that we did not write are passed over: neither answered with nor removed.
    """
    found = []
    for name in sorted(state.names()):
        if not name.startswith(PREFIX):
            continue
        journal = _read(state, name)
        if journal is None or name != name_of(journal["id"]) or journal["answer"] is None:
            continue
        fd = _locked(state, name)
        if fd is not None:
            found.append((journal, Unanswered(name, fd, open_state)))
    return found


def _locked(state: Folder, name: str) -> int | None:
    """A descriptor that locks the marker; None when a living process has it, or it is gone."""
    try:
        fd = state.open(name, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _lock_on_windows(fd)
    except OSError:
        os.close(fd)
        return None
    return fd


def _lock_on_windows(fd: int) -> None:
    import msvcrt

    # Locks are mandatory there, so the byte is one beyond the end, which no reader asks for.
    os.lseek(fd, HISTORY_LIMIT, os.SEEK_SET)
    msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]


def _read(state: Folder, name: str) -> dict[str, Any] | None:
    data = state.read(name, HISTORY_LIMIT)
    if data is None:
        return None
    try:
        journal = decode(data, state.show(name), ARCHIVE_DEPTH)
    except NexusError:
        return None
    return journal if is_ours(journal) else None
