"""Mend history.json on disk: under the lock, with the file as it was kept beside, and nothing else touched."""

from __future__ import annotations

from contextlib import nullcontext

from nexus_mcp.errors import NotConfirmed, StateError, StorageError
from nexus_mcp.merging import backup
from nexus_mcp.merging.committed import committed
from nexus_mcp.merging.diagnosis import Conflict, Damaged, Diagnosis, Lacking, diagnose
from nexus_mcp.merging.from_commit import diagnose_with
from nexus_mcp.merging.stages import unmerged
from nexus_mcp.store import journal, lock
from nexus_mcp.store.access import Access
from nexus_mcp.store.original import ChangedMeanwhile
from nexus_mcp.store.original import read as original_of
from nexus_mcp.store.patience import Patience
from nexus_mcp.store.replacing import Replacement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from nexus_mcp.store.folder import Folder


class Repair:
    """What `diagnosis` found, and whether that was mended.

    `backup` is the path of the copy of the file as it was, "" when none was made: there was no file, or nothing to do.
    `interrupted`: a change waits in the journal, and the next call that may complete it does so.
    """

    __slots__ = ("backup", "diagnosis", "interrupted", "is_mended")

    def __init__(self, diagnosis: Diagnosis, backup: str, *, interrupted: bool, is_mended: bool = False) -> None:
        self.diagnosis = diagnosis
        self.backup = backup
        self.interrupted = interrupted
        self.is_mended = is_mended


def examine(root: str, revision: str = "") -> Repair:
    """Look at the history of the project at `root`. Writes nothing. `revision` as for `repair`.

    Raises StateError, PathRefused, StorageError, UsageError.
    """
    return _examined(root, revision)[1]


def _examined(root: str, revision: str = "") -> tuple[bytes | None, Repair]:
    """The bytes that are there, and what there is to say of them."""
    with Access(root, Patience(lock.WAIT_SECONDS)).folders() as (nexus, state):
        data = _read(nexus)
        return data, Repair(_diagnosed(root, data, revision), "", interrupted=_waits(state))


def _diagnosed(root: str, data: bytes | None, revision: str) -> Diagnosis:
    def of_commit(name: str) -> bytes | None:
        return committed(root, name)

    if revision:
        return diagnose_with(data, revision, lambda: unmerged(root), of_commit)
    return diagnose(data, lambda: unmerged(root), of_commit)


def repair(
    root: str,
    *,
    damage: bool = False,
    revision: str = "",
    carried: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Repair:
    """Examine the history and mend it where both sides of a conflict are there, with `damage` also what is damaged.

    With a `revision` the cycles of that commit are put back, whatever is wrong with the file.

    The journal of an interrupted change is left to the next call: it cannot be completed before the history can be
    read. The writing happens within `carried`. Raises as `examine` does, LockTimeout, and NotConfirmed.
    """
    before, seen = _examined(root, revision)
    if _mended(seen.diagnosis, damage=damage) is None:
        return seen
    with Access(root, Patience(lock.WAIT_SECONDS)).locked() as at:
        nexus, state = at.nexus, at.state
        original = original_of(nexus, journal.HISTORY, journal.HISTORY_LIMIT)
        data = original.content()
        found = seen.diagnosis if data == before else _diagnosed(root, data, revision)
        mended = _mended(found, damage=damage)
        if mended is None:  # somebody else was quicker
            return Repair(found, "", interrupted=_waits(state))

        with carried():
            at.begin()
            kept = "" if data is None else nexus.show(backup.keep(nexus, data, at.held.check))
            try:
                Replacement(nexus, journal.HISTORY, original).put(mended, at.held.check)()
            except ChangedMeanwhile as error:  # git takes no lock of ours: what it wrote is not in the result
                step = f"Run it again.{_told(kept)}"
                raise StateError(journal.SHOWN_HISTORY, "was changed meanwhile", next_step=step) from error
            except (NotConfirmed, StateError, StorageError) as error:
                error.next_step += _told(kept)
                raise
            at.keep()
        return Repair(found, kept, interrupted=_waits(state), is_mended=True)


def _told(kept: str) -> str:
    return f" {kept}, a copy of the file as it was, has been made and stays." if kept else ""


def _mended(diagnosis: Diagnosis, *, damage: bool) -> bytes | None:
    if isinstance(diagnosis, Conflict | Lacking):
        return diagnosis.data
    if isinstance(diagnosis, Damaged) and damage and not diagnosis.unsure:
        return diagnosis.data
    return None


def _read(nexus: Folder | None) -> bytes | None:
    return None if nexus is None else nexus.read(journal.HISTORY, journal.HISTORY_LIMIT)


def _waits(state: Folder | None) -> bool:
    return state is not None and state.check_plain(journal.NAME)
