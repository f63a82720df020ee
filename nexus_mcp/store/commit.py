"""Write a change to disk and into the operation log: one file directly; several files, or an undo, through the journal.

A new cycle, and the record of an idempotency key, count as another file. This module is separate from transaction.py
because the server starts without it: `Store.warm_up` or the first change loads it.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial

from nexus_mcp import progress
from nexus_mcp.errors import NexusError, NotAppliedYet, StateError, StorageError
from nexus_mcp.state import oplog as entries
from nexus_mcp.store import atomic, conflicts, journal, oplog, paths
from nexus_mcp.store.atomic import sync
from nexus_mcp.store.codec import encode
from nexus_mcp.store.folder import Copy, reason
from nexus_mcp.store.journal import finish
from nexus_mcp.store.replacement import Original, Replacement, put_unsynced

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import HeldLock
    from nexus_mcp.store.transaction import Transaction


def carry_out(
    nexus: Folder,
    state: Folder,
    change: Transaction,
    held: HeldLock,
    answer: dict[str, Any] | None,
) -> str | None:
    """Write the files that `change` requests; return the name of the receipt with `answer`, None if there is none.

    Only a change with a cycle stores its answer. Raise NotAppliedYet and NotConfirmed if the change is recorded or
    made. Raise other errors with nothing changed: StateError, PathRefused, StorageError, or ChangedMeanwhile if another
    program saved one of the files since it was read.
    """
    progress.note(progress.WRITING)
    # A change of one file needs no journal, except for an undo. If the process died before it added the undo's entry to
    # the log, the log would not match the file, and every later undo would be refused. The journal contains the entry.
    if change.cycle is None and change.undoes is None and change.record is None and len(change.writes) <= 1:
        for name, (_, after) in change.writes.items():
            original = change.originals[name]
            if name in paths.SESSION:
                write_one(state, state, (name, original), after, change.entry, held=held)
                continue
            with ExitStack() as stack:
                folder, last = paths.find(stack, state, name)
                if folder is None:
                    raise StorageError(state.show(name), "write", "its folder is gone")
                write_one(state, folder, (last, original), after, change.entry, held=held)
        return None
    return write_journaled(nexus, state, change, held, answer)


def write_one(
    state: Folder,
    folder: Folder,
    read: tuple[str, Original],
    after: bytes | None,
    make_entry: Callable[[], entries.Entry],
    *,
    held: HeldLock | None = None,
    forward: str | None = None,
) -> None:
    """Replace a file in `folder` by `after`, or remove it if `after` is None, and add the entry of `make_entry` to the
    operation log. Raise the errors of `Replacement.put`.

    `read` is (the file's name, the file as the change read it); `forward` is that of Replacement.

    With the lock `held`, the folder of a file in `state` is synced after the lock is released, so that other processes
    need not wait for the disk. Every later change syncs that folder, too, before its response is sent, so a power cut
    cannot undo this change and keep a later one.
    """
    if folder is not state:
        # A power cut could undo an unsynced removal of a journal, and the old journal could overwrite the next change.
        sync(state)
        conflicts.sweep(folder)
    copy = put_unsynced(folder, read, after, None if held is None else held.check, forward)
    oplog.note(state, make_entry, [copy] if copy else ())  # the change is visible now
    if held is None or folder is not state:
        atomic.confirm_file(folder, read[0])
    else:
        held.afterwards = partial(atomic.confirm_file, folder, read[0])


def _entry_for(change: Transaction) -> entries.Entry | None:
    """Return the entry for the journal; None if it cannot be made for a change with a cycle.

    Raise StorageError if it cannot be made for any other change.
    """
    try:
        return change.entry()
    except Exception as error:
        if change.cycle is not None:
            return None  # the change must not fail because of the log, which then gets a shorter entry
        shown = f".nexus/state/{oplog.NAME}"
        raise StorageError(shown, "make an entry for", f"{type(error).__name__}: {error}") from error


def write_journaled(
    nexus: Folder, state: Folder, change: Transaction, held: HeldLock, answer: dict[str, Any] | None
) -> str | None:
    """Carry out a change through the journal. Return and raise the same as `carry_out`."""
    entry, files = _entry_for(change), change.files
    try:
        record = journal.record(change.cycle, files, answer, entry)
        recorded = encode(record)
    except (OSError, ImportError, MemoryError) as error:  # this loads a module, which may need a descriptor
        raise StorageError(journal.SHOWN, "make", f"{type(error).__name__}: {error}") from error
    if len(recorded) > journal.HISTORY_LIMIT:  # no later call could read it and complete the change
        raise StateError(
            journal.SHOWN, f"would grow beyond {journal.HISTORY_LIMIT >> 20} MiB", next_step=_smaller(change)
        )
    if change.cycle is not None:
        conflicts.sweep_artifacts(state)
    # All new bytes are on disk before the commit point, so that a full disk is detected before anything changed.
    temporary: dict[str, tuple[Folder, str]] = {}
    made: list[tuple[Folder, str]] = []
    copied: list[os.stat_result | None] = []
    growth = None
    doing = journal.SHOWN_HISTORY
    with ExitStack() as stack:
        try:
            if change.cycle is not None:
                growth = change.growth()
                if growth.size > journal.HISTORY_LIMIT:
                    raise StateError(journal.SHOWN_HISTORY, f"would grow beyond {journal.HISTORY_LIMIT >> 20} MiB")
                copied.append(nexus.plain(journal.HISTORY))
                temporary[journal.HISTORY] = (nexus, growth.prepare())
            found = _places(stack, state, change, made)
            for name, (folder, last) in found.items():
                doing, after = state.show(name), files[name][1]
                if folder is not None:
                    original = change.originals.setdefault(name, Original())
                    copied.append(original.info)
                    if after is not None:
                        temporary[name] = (folder, Replacement(folder, last, original).prepare(after))

            def check() -> None:
                held.check()
                for name, (folder, last) in found.items():
                    if folder is not None:
                        (change.originals.get(name) or Original()).check(folder, last)

            doing = journal.SHOWN
            # The journal may become a receipt. Both contain text that other users may not be allowed to read.
            atomic.replace(state, journal.NAME, [recorded], check, mode=Copy(copied))
        except (OSError, NexusError) as error:
            _take_back(temporary, made)
            if isinstance(error, NexusError):
                raise
            raise StorageError(doing, "write", reason(error)) from error
        except atomic.SyncFailed as error:
            raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error
    prepared = {name: (fresh, change.originals.get(name)) for name, (_, fresh) in temporary.items()}
    finish(nexus, state, record, lambda: entry or journal.log_entry(record), growth=growth, prepared=prepared)
    return None if answer is None else journal.receipt_name(record["id"])


def _places(
    stack: ExitStack, state: Folder, change: Transaction, made: list[tuple[Folder, str]]
) -> dict[str, tuple[Folder | None, str]]:
    """Create missing folders for new content, add them to `made`, and return the result of `paths.find` for each file.
    This happens before the commit point, because afterwards a bad folder could no longer fail the change.
    """
    found: dict[str, tuple[Folder | None, str]] = {}
    for name, (_, after) in change.files.items():
        found[name] = paths.find(stack, state, name) if after is None else paths.make(stack, state, name, made)
    if change.record is not None:
        for folder in {folder.path: folder for folder, _ in found.values() if folder and folder is not state}.values():
            conflicts.sweep(folder)  # temporary files of a dead process
    return found


def _take_back(temporary: dict[str, tuple[Folder, str]], made: list[tuple[Folder, str]]) -> None:
    """Remove the files and empty folders that a failed change has prepared."""
    for folder, name in temporary.values():
        with suppress(OSError):  # the next change deletes it
            folder.unlink(name)
    for parent, name in reversed(made):
        if not parent.remove_folder(name):
            return


def _smaller(change: Transaction) -> str:
    if change.undoes is not None:
        return "Take back fewer changes at a time."
    return "Look at what makes plan.json or tasks.json so large, make it smaller yourself, then call again."
