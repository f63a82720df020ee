"""The marker of a close whose answer has not gone out yet: `state/closed-<id>.json`, the applied journal itself.

It is removed once the answer was written out. When the process dies before, the marker stays behind, and the next
task_close that finds nothing open answers with what it holds, once: a client that retries gets its answer and no
second cycle. While its process lives the marker is locked, so that nobody else takes it for a left one.
"""

from __future__ import annotations

import os

from nexus_mcp import log
from nexus_mcp.errors import NexusError, StorageError
from nexus_mcp.store.codec import JOURNAL_DEPTH, decode
from nexus_mcp.store.folder import let_go, reason
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
    from nexus_mcp.store.history_file import HistoryFile

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

    def __del__(self) -> None:
        # Whatever became of the answer, a marker that nobody can settle any more must not look like a living one.
        self.undelivered()

    def delivered(self) -> None:
        """The answer is out: the marker goes. Failing to remove it costs no more than one repeated answer."""
        if fcntl is None:
            self.undelivered()  # Windows does not remove an open file
        try:
            with self._open_state() as state:
                if state is not None:
                    state.unlink(self._name)
        except (OSError, NexusError) as error:
            log.warning(f"could not remove {self._name}: {error}")
        # Only now: between letting go and removing, another close could take the marker for a left one.
        self.undelivered()

    def undelivered(self) -> None:
        """The answer will never be read: leave the marker for whoever asks again."""
        if self._fd is not None:
            let_go(self._fd)
            self._fd = None


class Markers:
    """The markers that dead processes left, as one change sees them. Only under the lock.

    `given` is the marker whose answer was given by `answer`, None while none was.
    """

    def __init__(
        self, state: Folder, open_state: OpenState, is_answer: Callable[[dict[str, Any]], bool] | None
    ) -> None:
        self._state = state
        self._open_state = open_state
        self._is_answer = is_answer
        self.given: Unanswered | None = None

    def answer(self, history: HistoryFile) -> dict[str, Any] | None:
        """The answer of the newest close that was never delivered, taken over so that nobody else gives it too.

        Only where its cycle still is in `history`: git may have taken it out since. Raises StorageError, PathRefused.
        """
        newest_first = sorted(
            left_behind(self._state, self._open_state), key=lambda found: str(found[0]["cycle"]["completed_at"])
        )
        answer: dict[str, Any] | None = None
        while newest_first:
            entry, marker = newest_first.pop()
            if answer is None and self._is_answer and self._is_answer(entry["answer"]) and history.has(entry["cycle"]):
                answer, self.given = entry["answer"], marker
            else:
                marker.delivered()  # it says what is not so, or is an older one: there is nobody to give it to
        return answer

    def forget(self) -> None:
        """Something was written after a close that went unanswered: its client went on, nobody will ask again."""
        try:
            for _, marker in left_behind(self._state, self._open_state):
                marker.delivered()
        except (OSError, NexusError) as error:
            # The change itself is on disk and must be answered as such; at worst an old answer is given once more.
            log.warning(f"could not look for unanswered closes: {error}")


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
        if journal is None or name != name_of(journal["id"]):
            continue
        fd = _locked(state, name)
        if fd is not None:
            found.append((journal, Unanswered(name, fd, open_state)))
    return found


def _locked(state: Folder, name: str) -> int | None:
    """A descriptor that locks the marker; None when a living process has it, or it is gone. Raises StorageError.

    Only what says that it is held counts as that: taken for held, a left marker would let a close happen twice.
    """
    try:
        fd = state.open(name, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(state.show(name), "open", reason(error)) from error
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _lock_on_windows(fd)
        if state.is_file(name, fd):
            return fd
        # Its process removed it, its answer being out, after we had opened it.
        let_go(fd)
        return None
    except (BlockingIOError, PermissionError):  # the second on Windows
        let_go(fd)
        return None
    except OSError as error:
        let_go(fd)
        raise StorageError(state.show(name), "lock", reason(error)) from error
    except NexusError:
        let_go(fd)
        raise


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
        journal = decode(data, state.show(name), JOURNAL_DEPTH)
    except NexusError:
        return None
    if not is_ours(journal) or journal["answer"] is None or journal["cycle"] is None:
        return None
    if journal["answer"].get("cycle") != journal["cycle"]["completed_at"]:
        return None
    return journal  # type: ignore[no-any-return]
