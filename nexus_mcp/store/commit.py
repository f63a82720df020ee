"""How a change reaches the disk, and the operation log: one file by itself, the rest by way of the journal."""

from __future__ import annotations

from contextlib import ExitStack, suppress

from nexus_mcp.errors import NexusError, NotAppliedYet, StateError, StorageError
from nexus_mcp.state import oplog as entries
from nexus_mcp.store import atomic, journal, leftovers, oplog, places, unanswered
from nexus_mcp.store.completing import finish
from nexus_mcp.store.opening import reason
from nexus_mcp.store.original import Original
from nexus_mcp.store.permissions import Copy
from nexus_mcp.store.replacing import Replacement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.permissions import Permissions
    from nexus_mcp.store.transaction import Transaction


def carry_out(
    nexus: Folder,
    state: Folder,
    asked: Transaction,
    held: Held,
    answer: dict[str, Any] | None,
    *,
    meanwhile: Callable[[], object] = bool,
) -> str | None:
    """Do what `asked` asks for; the name of the marker that keeps `answer`, None when there is none to keep.

    Only a change with a cycle keeps an answer. `meanwhile`, which raises nothing, is called while the disk is at work,
    or not at all. Raises StorageError and others when nothing was changed, ChangedMeanwhile among them: another program
    saved one of the files since it was read. NotAppliedYet and NotConfirmed when it was.
    """
    # One file needs no journal, unless it is put back by an undo: had that died before its note, the log would not tell
    # what is in the file, and no undo would be carried out any more. The journal has the note.
    if asked.cycle is None and asked.undoes is None and len(asked.writes) <= 1:
        for name, (_, after) in asked.writes.items():
            original = asked.originals[name]
            if name in places.SESSION:
                put_one(state, state, (name, original), after, lambda: entry_of(asked), held=held, meanwhile=meanwhile)
                continue
            with ExitStack() as stack:
                folder, last = places.found(stack, state, name)
                if folder is None:
                    raise StorageError(state.show(name), "write", "its folder is gone")
                put_one(state, folder, (last, original), after, lambda: entry_of(asked), held=held)
        return None
    return together(nexus, state, asked, held, answer)


def entry_of(asked: Transaction) -> entries.Entry:
    """The entry of a change. What a file was before is kept only where undo may need it."""
    stays = asked.cycle is not None or asked.undoes is not None
    files = [
        entries.left(name, after) if stays else entries.changed(name, before, after, asked.steps.get(name))
        for name, (before, after) in asked.writes.items()
    ]
    cycle = None if asked.cycle is None else asked.cycle["completed_at"]
    return entries.entry(
        oplog.new_id(), asked.stamp(), asked.by, files, what=asked.what, cycle=cycle, undoes=asked.undoes
    )


def put_one(
    state: Folder,
    folder: Folder,
    read: tuple[str, Original],
    after: bytes | None,
    make_entry: Callable[[], entries.Entry],
    *,
    held: Held | None = None,
    meanwhile: Callable[[], object] = bool,
    forward: str | None = None,
) -> None:
    """Replace a file in `folder`, or remove it for None, and note that. Raises as Replacement.put does.

    `read` is its name, and the file as it was read; `forward` as for Replacement.

    Of a file that is written the line for the log is made, and `meanwhile` called, while the disk is at work.

    A file in `state` itself is synced into it once the lock is let go, so that others need not wait for the disk: every
    later change syncs that folder, too, before it is answered, and so never outlives this one.
    """
    if folder is not state:
        _sync_journals_folder(state)
        atomic.sweep(folder)
    made: list[bytes | None] = []

    def prepare() -> None:
        made.append(oplog.line(state, make_entry))
        meanwhile()

    replacement = Replacement(folder, *read, forward)
    sync = replacement.put(after, None if held is None else held.check, prepare)
    if replacement.copy:
        made = [oplog.line(state, lambda: entries.with_copies(make_entry(), [replacement.copy]))]
    oplog.add(state, made[0] if made else oplog.line(state, make_entry))  # every reader sees the change
    if held is None or folder is not state:
        sync()
    else:
        held.afterwards = sync


def _sync_journals_folder(state: Folder) -> None:
    """A journal whose removal was never synced could come back, and undo what is to be written elsewhere now.

    Raises StorageError.
    """
    try:
        state.sync()
    except OSError as error:
        raise StorageError(state.shown, "sync", reason(error)) from error


def _entry_for(asked: Transaction) -> entries.Entry | None:
    """The entry that the journal carries; None where it cannot be made and the journal can do without it.

    Raises StorageError.
    """
    try:
        return entry_of(asked)
    except Exception as error:
        if asked.cycle is not None:
            return None  # the log is advice; whoever notes the change says what can be told of it
        shown = f".nexus/state/{oplog.NAME}"
        raise StorageError(shown, "make an entry for", f"{type(error).__name__}: {error}") from error


def together(nexus: Folder, state: Folder, asked: Transaction, held: Held, answer: dict[str, Any] | None) -> str | None:
    """Carry out a change by way of the journal; as `carry_out`."""
    entry = _entry_for(asked)
    try:
        record = journal.record(asked.cycle, asked.writes, answer, entry)
        recorded = journal.encoded(record)
    except (OSError, ImportError, MemoryError) as error:  # a module is loaded for it, and that may take a descriptor
        raise StorageError(journal.SHOWN, "make", f"{type(error).__name__}: {error}") from error
    if len(recorded) > journal.HISTORY_LIMIT:  # whoever had to complete it could not read it
        raise StateError(
            journal.SHOWN, f"would grow beyond {journal.HISTORY_LIMIT >> 20} MiB", next_step=_smaller(asked)
        )
    if asked.cycle is not None:
        leftovers.sweep_artifacts(state)
    # All new bytes are on disk before the commit point, so that a full disk is met while nothing has happened.
    temporary: dict[str, tuple[Folder, str]] = {}
    copied: list[Permissions | None] = []
    growth = None
    doing = journal.SHOWN_HISTORY
    with ExitStack() as stack:
        try:
            if asked.cycle is not None:
                growth = asked.growth()
                if growth.size > journal.HISTORY_LIMIT:
                    raise StateError(journal.SHOWN_HISTORY, f"would grow beyond {journal.HISTORY_LIMIT >> 20} MiB")
                copied.append(nexus.permissions(journal.HISTORY))
                temporary[journal.HISTORY] = (nexus, growth.prepare())
            found = {name: places.found(stack, state, name) for name in asked.writes}
            for name, (folder, last) in found.items():
                doing, after = state.show(name), asked.writes[name][1]
                if folder is not None:
                    original = asked.originals.get(name) or Original()
                    copied.append(original.permissions)
                    if after is not None:
                        temporary[name] = (folder, Replacement(folder, last, original).prepare(after))

            def check() -> None:
                held.check()
                for name, (folder, last) in found.items():
                    if folder is not None:
                        (asked.originals.get(name) or Original()).check(folder, last)

            doing = journal.SHOWN
            # It becomes a marker, too. Both hold what others may not be allowed to read.
            atomic.replace(state, journal.NAME, [recorded], check, mode=Copy(copied))
        except (OSError, NexusError) as error:
            for folder, made in temporary.values():
                with suppress(OSError):  # swept by the next change
                    folder.unlink(made)
            if isinstance(error, NexusError):
                raise
            raise StorageError(doing, "write", reason(error)) from error
        except atomic.Unsynced as error:
            raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error
    prepared = {name: (made, asked.originals.get(name)) for name, (_, made) in temporary.items()}
    finish(nexus, state, record, lambda: entry or journal.log_entry(record), growth=growth, prepared=prepared)
    return None if answer is None else unanswered.name_of(record["id"])


def _smaller(asked: Transaction) -> str:
    if asked.undoes is not None:
        return "Take back fewer changes at a time."
    return "Look at what makes plan.json or tasks.json so large, make it smaller yourself, then call again."
