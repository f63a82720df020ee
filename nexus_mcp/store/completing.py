"""Completing a change that a journal tells of: by whoever made it, or by the next one after a crash."""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import JournalError, NexusError, NotAppliedYet, StorageError
from nexus_mcp.store import atomic, journal, unanswered
from nexus_mcp.store.folder import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from nexus_mcp.state.oplog import Entry
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.growing import Growth

_DISK_ADVICE = "Check the free space and the permissions of .nexus, then call again."


def roll_forward(nexus: Folder, state: Folder) -> Entry | None:
    """Complete the change whose journal waits, if one does. Only under the lock. Raises JournalError.

    It is somebody else's change: whoever calls now must not take it for his own. The entry of one without a cycle is
    returned, so that an undo can tell whether it was an undo.
    """
    entry = journal.pending(state)
    if entry is None:
        return None
    from nexus_mcp.store import oplog

    try:
        _confirm_journal(state)
        # Whoever began it may have noted it before he died.
        finish(nexus, state, entry, lambda: oplog.unless_there(state, journal.log_entry(entry)))
    except NotAppliedYet as error:
        cause = error.__cause__
        raise JournalError(
            journal.SHOWN,
            f"holds an earlier change that could not be completed ({error.reason})",
            next_step=cause.next_step if isinstance(cause, NexusError) else _DISK_ADVICE,
        ) from error
    try:
        for folder in (nexus, state):
            atomic.sweep(folder)  # of what was prepared by whoever died
    except StorageError as error:
        log.warning(error.fault)
    return entry["log"] if entry["cycle"] is None else None


def _confirm_journal(state: Folder) -> None:
    """Sync the journal's name, which must last as long as its change: who put it there may have died before.

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
    prepared: Mapping[str, str] | None = None,
) -> None:
    """Apply a journal that is in place, then take it away, or turn it into the marker of its answer.

    What `make_entry` makes goes into the operation log while the journal is still there: no death comes in between.
    `growth` and `prepared` as for journal.apply. Raises NotAppliedYet.
    """
    from nexus_mcp.store import oplog

    try:
        journal.apply(nexus, state, entry, growth, prepared or {})
        if entry["cycle"] is None:
            oplog.note(state, make_entry)
        else:
            oplog.note_cycle(state, make_entry)
        if entry["answer"] is None:
            atomic.remove(state, journal.NAME)
        else:
            state.rename(journal.NAME, unanswered.name_of(entry["id"]))
            atomic.confirm(state)
    except atomic.Unsynced as error:
        raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error
    except OSError as error:
        raise NotAppliedYet(journal.SHOWN, reason(error)) from error
    except (ImportError, MemoryError) as error:  # a module that is loaded only now, or too little of something
        raise NotAppliedYet(journal.SHOWN, str(error) or type(error).__name__) from error
    except NexusError as error:
        raise NotAppliedYet(journal.SHOWN, error.fault) from error
