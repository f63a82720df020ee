"""Complete a change that the journal holds: right after it was written, or after a crash."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.errors import JournalError, NexusError, NotAppliedYet, StorageError
from nexus_mcp.store import atomic, close_receipt, conflicts, journal
from nexus_mcp.store.folder import reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.state.oplog import Entry
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.append import Growth
    from nexus_mcp.store.journal import Prepared

_DISK_ADVICE = "Check the free space and the permissions of .nexus, then call again."


class JournalGone(NotAppliedYet):
    """The commit point was passed, something failed, and the journal is not there any more: no call can complete it."""

    LOOK = (
        "Look before you repeat it: history_search shows whether the cycle is there, plan_status and task_list show "
        "what is open. Find out what removes files below .nexus (git clean, a script)."
    )

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.fault = self.message = (
            f"The change was recorded in {path}, but something removed that file while it was carried out: {reason}. "
            "Some of the change may be made, the rest may be lost."
        )
        self.next_step = self.LOOK


def roll_forward(nexus: Folder, state: Folder) -> Entry | None:
    """Complete the change whose journal waits, if one does. Only under the lock. Raises JournalError.

    It is another call's change: the caller must not take it for its own. The entry of one without a cycle is
    returned, so that an undo can tell whether it was an undo.
    """
    entry = journal.read_pending(state)
    if entry is None:
        return None
    from nexus_mcp.store import oplog

    left = _find_removable(nexus, state)
    try:
        _confirm_journal(state)
        # Its process may have noted it before it died.
        finish(nexus, state, entry, lambda: oplog.skip_if_logged(state, journal.log_entry(entry)))
    except NotAppliedYet as error:
        cause = error.__cause__
        if isinstance(error, JournalGone):
            raise JournalError(
                journal.SHOWN,
                f"held an earlier change that could not be completed ({error.reason}), and was removed",
                next_step=error.LOOK,
            ) from error
        raise JournalError(
            journal.SHOWN,
            f"holds an earlier change that could not be completed ({error.reason})",
            next_step=cause.next_step if isinstance(cause, NexusError) else _DISK_ADVICE,
        ) from error
    for folder, name in left:
        with suppress(OSError):  # a temporary file of a dead process does no harm
            folder.unlink(name)
    return entry["log"] if entry["cycle"] is None else None


def _find_removable(*folders: Folder) -> list[tuple[Folder, str]]:
    """The temporary files that may go, judged while the files are as the dead one left them. What another program saved
    is kept as a copy. Never raises: what is left is judged by the next sweep."""
    found = []
    try:
        for folder in folders:
            for name in folder.names():
                if name.startswith(atomic.PREFIX) and conflicts.is_settled(folder, name):
                    found.append((folder, name))
    except StorageError as error:
        log.warning(error.fault)
    return found


def _confirm_journal(state: Folder) -> None:
    """Sync the journal's name, which must last as long as its change: the process that wrote it may have died before.

    Raises NotAppliedYet.
    """
    try:
        atomic.confirm(state)
    except atomic.Unsynced as error:
        raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error


def finish(
    nexus: Folder,
    state: Folder,
    entry: dict[str, Any],
    make_entry: Callable[[], Entry | None],
    *,
    growth: Growth | None = None,
    prepared: Prepared | None = None,
) -> None:
    """Apply a journal that is in place, then take it away, or turn it into the marker of its answer.

    What `make_entry` makes goes into the operation log while the journal is still there: no death comes in between.
    `growth` and `prepared` as for applying.apply. Raises NotAppliedYet.
    """
    from nexus_mcp.store import journal, oplog

    is_applied = False
    try:
        kept = journal.apply(nexus, state, entry, growth, prepared or {})
        is_applied = True
        note = oplog.note if entry["cycle"] is None else oplog.note_cycle
        note(state, lambda: _with_copies(make_entry(), kept))
        if entry["answer"] is None:
            atomic.remove(state, journal.NAME)
        else:
            _keep_answer(state, entry["id"])
    except atomic.Unsynced as error:
        raise _unfinished(state, is_applied, reason(error.cause)) from error
    except OSError as error:
        raise _unfinished(state, is_applied, reason(error)) from error
    except (ImportError, MemoryError) as error:  # a module that is loaded only now, or too little of something
        raise _unfinished(state, is_applied, str(error) or type(error).__name__) from error
    except NexusError as error:
        raise _unfinished(state, is_applied, error.fault) from error


def _unfinished(state: Folder, is_applied: bool, problem: str) -> NotAppliedYet:  # noqa: FBT001
    """The error for a change that was not carried out whole: it depends on whether the journal can be found again."""
    try:
        there = state.is_current() and (is_applied or state.look(journal.NAME) is not None)
    except StorageError:  # unknown; the message then is true as long as the file is there
        there = True
    return (NotAppliedYet if there else JournalGone)(journal.SHOWN, problem)


def _keep_answer(state: Folder, id_: str) -> None:
    """Turn the journal into the marker of its answer. A removed journal is no error: all is done."""
    try:
        state.rename(journal.NAME, close_receipt.name_of(id_))
    except FileNotFoundError:
        if not state.is_current():
            raise
        log.warning(f"{journal.SHOWN} was removed by another program; the change it held was carried out before")
    atomic.confirm(state)


def _with_copies(entry: Entry | None, copies: list[str]) -> Entry | None:
    from nexus_mcp.state.oplog import with_copies

    return None if entry is None else with_copies(entry, copies)
