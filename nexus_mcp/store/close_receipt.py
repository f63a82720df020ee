"""Keep the receipt of a close, the applied journal renamed to `closed-<id>.json`, until its answer was delivered.

The receipt is removed once the answer was written out. If the process dies before that, the receipt stays. The next
task_close that finds no open plan or task returns the stored answer, once: so a client that retries gets its answer and
no second cycle. A living process keeps its receipt locked, so that no other process treats it as abandoned.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp import log
from nexus_mcp.errors import NexusError, StorageError
from nexus_mcp.store import atomic, journal
from nexus_mcp.store.codec import JOURNAL_DEPTH, decode
from nexus_mcp.store.folder import close_fd, reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.archive import Archive

    IsAnswer = Callable[[dict[str, Any]], bool]
    OpenState = Callable[[], AbstractContextManager[Folder | None]]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


MOST_FILES = 1000
"""Limit of the receipts that one call checks under the lock: a clone may contain any number of such files."""
MOST_LEFT = 16
"""Limit of the receipts that one call takes over. Each change of plan or tasks removes older receipts, so there are
few.
"""
MAX_UNCHECKED_BYTES = 1 << 20
"""Bytes of all receipts together that are parsed without a check of their beginning. Beyond this limit only files that
begin as a journal of nexus-mcp are parsed, up to journal.HISTORY_LIMIT bytes in all. No journal is larger (commit.py),
so a receipt that is alone is never too large.
"""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


class Receipt:
    """A receipt that this process holds until its answer was written to the client, or can no longer be written."""

    __slots__ = ("_fd", "_name", "_open_state")

    def __init__(self, name: str, fd: int | None, open_state: OpenState) -> None:
        self._name = name
        self._fd = fd
        self._open_state = open_state

    def __del__(self) -> None:
        # A receipt without an owner must not stay locked: it would look like the receipt of a living process.
        self.release()

    def confirm_delivery(self) -> None:
        """Remove the receipt, because the answer was delivered. If the removal fails, one answer may be repeated."""
        try:
            self.remove()
        except NexusError as error:
            log.warning(f"could not remove {self._name}: {error}")
            self.release()

    def remove(self) -> None:
        """Remove the receipt. Raise StorageError, PathRefused; then this process still holds it, except on Windows."""
        if fcntl is None:
            self.release()  # Windows does not remove an open file
        with self._open_state() as state:
            if state is not None:
                try:
                    state.unlink(self._name)
                except OSError as error:
                    raise StorageError(state.show(self._name), "remove", reason(error)) from error
        # Unlock only after the removal: before it, another close could take the receipt for an abandoned one.
        self.release()

    def release(self) -> None:
        """Unlock the receipt. If it still exists, it stays for the next task_close: no client will read the answer."""
        if self._fd is not None:
            close_fd(self._fd)
            self._fd = None


class Receipts:
    """The receipts that no process holds, for one change. Needs the lock.

    `repeated` is the receipt whose answer the method `answer` returned, None if it returned none.
    """

    def __init__(self, state: Folder, open_state: OpenState, is_answer: IsAnswer) -> None:
        self._state = state
        self._open_state = open_state
        self._is_answer = is_answer
        self.repeated: Receipt | None = None

    def answer(self, history: Archive) -> dict[str, Any] | None:
        """Return the answer of the newest undelivered close, and keep its receipt locked, so that no other process
        returns the answer, too. Return None if there is no such close.

        A close counts only if `is_answer` accepts its answer, and its cycle is still in `history`: git may have removed
        the cycle. All other receipts are removed. Raise StorageError, PathRefused, also if a receipt cannot be removed:
        it would answer the close after this one.
        """
        newest_last = sorted(find_undelivered(self._state, self._open_state), key=_age)
        answer: dict[str, Any] | None = None
        while newest_last:
            entry, marker = newest_last.pop()
            if answer is None and self._is_answer(entry["answer"]) and history.has(entry["cycle"]):
                answer, self.repeated = entry["answer"], marker
            else:
                # No client waits for this answer: task_close cannot have returned it, the history lacks its cycle, or a
                # later close exists.
                marker.remove()
        return answer


def forget(state: Folder, open_state: OpenState, confirm: Callable[[], None]) -> None:
    """Remove the receipts that no process holds: a write after a close shows that the client continued and will not
    repeat the close. Needs the lock.

    Before a removal `confirm` syncs that write, so that a power cut cannot undo the write and keep the removal. Raise
    the errors of `confirm`, but no others.
    """
    try:
        left = find_undelivered(state, open_state, whole=False)
    except Exception as error:  # noqa: BLE001
        # The change is made, so its client must get a success. At worst a later task_close returns an old answer.
        log.warning(f"could not look for unanswered closes: {error}")
        return
    if left:
        confirm()
    # If this process dies meanwhile, or a removal fails, the newest receipt remains: its answer is the one to return.
    for _, marker in sorted(left, key=_age):
        try:
            marker.remove()
        except NexusError as error:
            log.warning(f"could not remove the receipts of unanswered closes: {error}")
            return


def lock_receipt(state: Folder, name: str, open_state: OpenState) -> Receipt:
    """Return the receipt of a close that was just applied, locked if possible. Never raises: the close is on disk, so
    its client must get a success.
    """
    try:
        fd = _lock_free(state, name)
    except (OSError, NexusError) as error:
        log.warning(f"could not lock {name}: {error}")
        fd = None
    return Receipt(name, fd, open_state)


def find_undelivered(state: Folder, open_state: OpenState, *, whole: bool = True) -> list[tuple[Any, Receipt]]:
    """Return (journal, receipt) of the receipts that no process holds, at most MOST_LEFT; this process now holds them.
    Raise StorageError, PathRefused.

    A file that has the name of a receipt, but that nexus-mcp did not write, is skipped and stays. Without `whole` the
    journal may be None: a large file that begins like a journal is not parsed.
    """
    found: list[tuple[Any, Receipt]] = []
    unchecked, room = MAX_UNCHECKED_BYTES, journal.HISTORY_LIMIT
    names = [name for name in state.names() if name.startswith(journal.RECEIPT_PREFIX)]
    for name in sorted(filter(_id_in, names))[:MOST_FILES]:
        if len(found) == MOST_LEFT:
            break
        fd = _lock_free(state, name)
        if fd is None:
            continue
        marker = Receipt(name, fd, open_state)
        try:
            size = os.fstat(fd).st_size
            if size <= unchecked:
                unchecked -= size
            elif size > room or not _begins_as_ours(name, fd):
                marker.release()
                continue
            elif whole:
                room -= size
            else:
                found.append((None, marker))
                continue
            entry = journal_in(name, atomic.read_up_to(fd, 0, size), state.show(name))
        except OSError as error:
            raise StorageError(state.show(name), "read", reason(error)) from error
        if entry is None:
            marker.release()
        else:
            found.append((entry, marker))
    return found


def journal_in(name: str, data: bytes, shown: str) -> dict[str, Any] | None:
    """Return the journal of a close in the bytes of the file `name`, None if the file is no receipt. `shown` is its
    path for messages.
    """
    try:
        entry = decode(data, shown, JOURNAL_DEPTH)
    except NexusError:
        return None
    if not journal.is_ours(entry) or entry["answer"] is None or entry["cycle"] is None:
        return None
    if name != journal.receipt_name(entry["id"]) or entry["answer"].get("cycle") != entry["cycle"]["completed_at"]:
        return None
    return entry  # type: ignore[no-any-return]


def _age(found: tuple[Any, Receipt]) -> float:
    """Return a key that sorts the oldest close first, by the length of the history just after it; unread ones last."""
    total = float("inf") if found[0] is None else found[0]["answer"].get("total_cycles")
    return total if isinstance(total, (int, float)) else 0


def _id_in(name: str) -> str:
    """Return the journal's id in the name of a receipt, "" for any other name."""
    id_ = name[len(journal.RECEIPT_PREFIX) : -len(".json")] if name.startswith(journal.RECEIPT_PREFIX) else ""
    return id_ if id_ and name == journal.receipt_name(id_) and journal.is_id(id_) else ""


def _begins_as_ours(name: str, fd: int) -> bool:
    begin = f'{{\n  "version": {journal.VERSION},\n  "id": "{_id_in(name)}",\n  "cycle": {{\n'.encode()
    return atomic.read_up_to(fd, 0, len(begin)) == begin


def _lock_free(state: Folder, name: str) -> int | None:
    """Return a descriptor that locks the receipt; None if a living process has locked it, or no such plain file exists.

    Raise StorageError, and PathRefused, for example for a link. Any other error than a lock by another process is
    raised: if an abandoned receipt counted as held, a close could happen twice.
    """
    try:
        fd = state.open(name, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(state.show(name), "open", reason(error)) from error
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            if fcntl is not None:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                _lock_on_windows(fd)
            if state.is_file(name, fd):
                return fd
            # Another process delivered the answer, and removed the receipt after this process had opened it.
    except (BlockingIOError, PermissionError):  # PermissionError: Windows
        pass
    except (OSError, NexusError) as error:
        close_fd(fd)
        if isinstance(error, NexusError):
            raise
        raise StorageError(state.show(name), "lock", reason(error)) from error
    close_fd(fd)
    return None


def _lock_on_windows(fd: int) -> None:
    import msvcrt

    # Locks are mandatory on Windows, so the locked byte is beyond the end of the file, where no process reads.
    os.lseek(fd, journal.HISTORY_LIMIT, os.SEEK_SET)
    msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
