"""Repair history.json on disk: under the lock, and with a backup of the old file.

Backups stay until a user removes them. An interrupted change of several files is not completed here.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from itertools import count

from nexus_mcp.errors import NotConfirmed, StateError, StorageError, UsageError
from nexus_mcp.merging import conflict
from nexus_mcp.merging.conflict import unmerged_sides
from nexus_mcp.merging.diagnosis import Conflict, DamagedFile, Diagnosis, Healthy, Hopeless, Lacking, diagnose, readable
from nexus_mcp.merging.repository import UnknownCommit, committed_copy
from nexus_mcp.merging.threeway import restore
from nexus_mcp.merging.versions import MergeUndecided
from nexus_mcp.store import atomic, journal, lock
from nexus_mcp.store.access import Access
from nexus_mcp.store.folder import reason
from nexus_mcp.store.journal import HISTORY, HISTORY_LIMIT, SHOWN_HISTORY
from nexus_mcp.store.replacement import ChangedMeanwhile, Replacement
from nexus_mcp.store.replacement import read as original_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from nexus_mcp.merging.diagnosis import Committed, Diagnosis, Unmerged
    from nexus_mcp.store.folder import Folder

_WITHOUT_FROM = "nexus-mcp history repair without --from keeps the cycles of both sides."
_NAME = re.compile(r"history\.backup(?:\.[1-9][0-9]*)?\.json")


def is_backup(name: str) -> bool:
    """Return whether `name` is the name of a backup in `.nexus`."""
    return _NAME.fullmatch(name) is not None


def write_backup(nexus: Folder, data: bytes, check: Callable[[], None]) -> str:
    """Write `data` durably to a backup file in `.nexus`, unless there is one with these bytes. Return its name.

    The backup has the permissions of the history and never replaces a file. `check` as for atomic.replace.
    Raise StateError if a file with such a name is too large, StorageError, PathRefused.
    """
    for name in _names():
        there = nexus.read(name, HISTORY_LIMIT)
        if there == data:
            return name
        if there is None:
            break
    try:
        atomic.replace(nexus, name, [data], check, mode=nexus.plain(HISTORY))
    except atomic.SyncFailed as error:
        shown = nexus.show(name)
        step = f"The history is unchanged, and its copy {shown} exists. Check the disk, then call again."
        raise StorageError(shown, "sync", reason(error.cause), next_step=step) from error
    except OSError as error:
        raise StorageError(nexus.show(name), "write", reason(error)) from error
    return name


def _names() -> Iterator[str]:
    yield "history.backup.json"
    yield from (f"history.backup.{number}.json" for number in count(2))


def diagnose_with(data: bytes | None, revision: str, unmerged: Unmerged, committed: Committed) -> Diagnosis:
    """Return the diagnosis for `history repair --from`: the file has to have the cycles of the commit `revision`, too.

    `data` is None when there is no file. Raise UsageError without such a commit or a repository.
    """
    from nexus_mcp.store.history.frame import HistoryFile

    fault, usable = "", data
    try:
        if data is not None:
            HistoryFile(data)
    except StateError as error:
        fault, usable = error.fault, None
    what = fault or f"{SHOWN_HISTORY} is readable"
    try:
        whole = committed(revision)
        if whole is None:
            return Hopeless(what, f"{revision} has no {SHOWN_HISTORY}")
        if data is not None and (conflict.are_whole(data) or unmerged() is not None):
            return Hopeless(what, "git has a conflict for it, and a commit has one side only", _WITHOUT_FROM)
        if data is not None and fault:
            usable = readable(data)
        result = restore(usable, whole, revision)
    except UnknownCommit as unknown:
        raise UsageError(f"--from: {unknown.reason}.", next_step="git log lists the commits.") from None
    except MergeUndecided as undecided:
        return Hopeless(what, undecided.reason, undecided.next_step)
    if data is not None and not fault and not result.lacking:
        return Healthy(result.cycles)
    return Lacking(fault, revision, result)


class Repair:
    """The diagnosis, and whether the file was repaired (`is_mended`).

    `backup`: path of the copy of the old file, "" when none was made: there was no file, or it was not repaired.
    `interrupted`: there is a journal, with an incomplete change, which the next call completes.
    """

    def __init__(self, diagnosis: Diagnosis, backup: str, *, interrupted: bool, is_mended: bool = False) -> None:
        self.diagnosis = diagnosis
        self.backup = backup
        self.interrupted = interrupted
        self.is_mended = is_mended


def examine(root: str, revision: str = "") -> Repair:
    """Diagnose the history of the project at `root`, without writing. `revision` as for `repair`.

    Raise StateError, PathRefused, StorageError, UsageError.
    """
    return _examine(root, revision)[1]


def _examine(root: str, revision: str = "") -> tuple[bytes | None, Repair]:
    """Return (the bytes of the file, None without a file; a Repair with the diagnosis). Raise as `examine` does."""
    with Access(root, lock.WAIT_SECONDS).folders() as (nexus, state):
        data = None if nexus is None else nexus.read(HISTORY, HISTORY_LIMIT)
        return data, Repair(_diagnose(root, data, revision), "", interrupted=_has_journal(state))


def _diagnose(root: str, data: bytes | None, revision: str) -> Diagnosis:
    def of_commit(name: str) -> bytes | None:
        return committed_copy(root, name)

    if revision:
        return diagnose_with(data, revision, lambda: unmerged_sides(root), of_commit)
    return diagnose(data, lambda: unmerged_sides(root), of_commit)


def repair(
    root: str,
    *,
    damage: bool = False,
    revision: str = "",
    interrupt_guard: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Repair:
    """Diagnose the history, and repair it when a repair is safe.

    A Conflict is always repaired, a DamagedFile only with `damage` and if its `unsure` is empty. With a `revision` the
    cycles of that commit are restored, also without `damage`. The journal of an interrupted change is left to the next
    call: completing it needs a readable history. The writing is inside the context manager `interrupt_guard`. Raise the
    errors of `examine`, LockTimeout and NotConfirmed.
    """
    before, seen = _examine(root, revision)
    if _repaired_data(seen.diagnosis, damage=damage) is None:
        return seen
    with Access(root, lock.WAIT_SECONDS).writer_lock() as at:
        nexus, state = at.nexus, at.state
        original = original_of(nexus, HISTORY, HISTORY_LIMIT)
        data = original.content()
        found = seen.diagnosis if data == before else _diagnose(root, data, revision)
        repaired = _repaired_data(found, damage=damage)
        if repaired is None:  # another process repaired the file meanwhile
            return Repair(found, "", interrupted=_has_journal(state))

        with interrupt_guard():
            at.begin()
            backup = "" if data is None else nexus.show(write_backup(nexus, data, at.held.check))
            try:
                Replacement(nexus, HISTORY, original).put(repaired, at.held.check)
            except ChangedMeanwhile as error:  # git does not take our lock: its write would not be in the result
                step = f"Run the command again.{_backup_note(backup)}"
                raise StateError(SHOWN_HISTORY, "was changed meanwhile", next_step=step) from error
            except (NotConfirmed, StateError, StorageError) as error:
                error.next_step += _backup_note(backup)
                raise
            at.is_kept = True
        return Repair(found, backup, interrupted=_has_journal(state), is_mended=True)


def _backup_note(backup: str) -> str:
    return f" The previous file is in {backup}." if backup else ""


def _repaired_data(diagnosis: Diagnosis, *, damage: bool) -> bytes | None:
    if isinstance(diagnosis, Conflict | Lacking):
        return diagnosis.data
    if isinstance(diagnosis, DamagedFile) and damage and not diagnosis.unsure:
        return diagnosis.data
    return None


def _has_journal(state: Folder | None) -> bool:
    return state is not None and state.check_plain(journal.NAME)
