"""Diagnose a history.json, and compute the bytes that would repair it."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.merging import conflict
from nexus_mcp.merging.repository import HEAD, UnknownCommit
from nexus_mcp.merging.threeway import origins_of_sides, restore
from nexus_mcp.merging.versions import MergeUndecided
from nexus_mcp.store.journal import SHOWN_HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.merging.scanner import SalvageResult
    from nexus_mcp.merging.threeway import Origin, RestoreResult

    Unmerged = Callable[[], tuple[bytes, bytes] | None]
    Committed = Callable[[str], bytes | None]

_COMPARE = (
    f"See what the sides hold (git show :2:./{SHOWN_HISTORY} is ours, :3: theirs), and run git add {SHOWN_HISTORY} "
    "when the file has all cycles."
)


class Healthy:
    """The file is readable and has `cycles` cycles, or it is `absent` because nothing was closed yet.

    `is_unmerged`: git still has a conflict, but the file has the cycles of both sides, so the user only has to run git
    add.
    """

    def __init__(self, cycles: int, *, absent: bool = False, is_unmerged: bool = False) -> None:
        self.cycles = cycles
        self.absent = absent
        self.is_unmerged = is_unmerged


class Conflict:
    """The file has a git conflict; the sides have `ours` and `theirs` cycles. `data` is a history with the cycles of
    both sides and of the file, `cycles` in all.

    `origins`: which cycles came from which side. `readable`: the number of cycles in the file if it is readable but
    lacks cycles of a side; None if it has conflict markers. `others`: the number of cycles that are in the file but in
    neither side of the index; None if the index has no sides.
    """

    def __init__(
        self,
        data: bytes,
        cycles: int,
        *,
        ours: int,
        theirs: int,
        origins: list[Origin],
        others: int | None,
        readable: int | None = None,
    ) -> None:
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs
        self.origins = origins
        self.others = others
        self.readable = readable


class DamagedFile:
    """The file is truncated or partly unreadable.

    `fault`: why reading it fails. `salvaged`: the readable part, with `cycles` cycles. `lacking`: the number of cycles
    that only HEAD has; None if no copy in HEAD was used. `data`: the readable cycles and those that only HEAD has.
    `unsure`: the reason why git's copy could not be read or combined with the file, so that nothing is repaired; ""
    without such a reason. `origins`: the source of each cycle of `data`, [] if no copy was used.
    """

    def __init__(self, fault: str, salvaged: SalvageResult, head: RestoreResult | None, unsure: str = "") -> None:
        self.fault = fault
        self.salvaged = salvaged
        self.data = salvaged.data if head is None else head.data
        self.cycles = salvaged.cycles
        self.lacking = None if head is None else head.lacking
        self.origins = [] if head is None else head.origins
        self.unsure = unsure


class Lacking:
    """The file lacks `lacking` cycles of a commit, or it is unreadable and the commit has a copy.

    `data` has the cycles of both. `fault`: the reason why the file is unreadable, "" if it is readable. `cycles`: the
    number of cycles in `data`. `origins`: the source of each. `revision`: the commit, as the user named it.
    """

    def __init__(self, fault: str, revision: str, made: RestoreResult) -> None:
        self.fault = fault
        self.revision = revision
        self.data = made.data
        self.cycles = made.cycles
        self.lacking = made.lacking
        self.origins = made.origins


class Hopeless:
    """An automatic repair is not possible or not safe (`reason`). `fault` is the state of the file, such as unreadable.

    `next_step` is a sentence, or "" if only a repair by hand is possible.
    """

    def __init__(self, fault: str, reason: str, next_step: str = "") -> None:
        self.fault = fault
        self.reason = reason
        self.next_step = next_step


Diagnosis = Healthy | Conflict | DamagedFile | Lacking | Hopeless


def diagnose(data: bytes | None, unmerged: Unmerged = lambda: None, committed: Committed = lambda _: None) -> Diagnosis:
    """Return the diagnosis for these bytes of a history.json; `data` is None when there is no file.

    `unmerged` returns (our side, their side) from git's index, None without a conflict. A file with a conflict may lack
    markers, because git writes only our side if it treats the file as binary. `committed` returns the file of a
    commit, None if the commit has none.
    """
    from nexus_mcp.store.history.frame import HistoryFile

    if data is None:
        step = _from_head(committed, is_there=False)
        what = f"There is no {SHOWN_HISTORY}"
        return Hopeless(what, "there is nothing to repair", step) if step else Healthy(0, absent=True)
    try:
        return _diagnose_readable(data, len(HistoryFile(data).cycles), unmerged)
    except StateError as error:
        fault = error.fault
    try:
        return (
            _diagnose_conflict(data, unmerged)
            if conflict.has_markers(data)
            else _diagnose_damaged(data, fault, unmerged, committed)
        )
    except MergeUndecided as undecided:
        step = undecided.next_step or ("" if conflict.are_whole(data) else _from_head(committed, unmerged))
        return Hopeless(fault, undecided.reason, step)


def readable(data: bytes) -> bytes | None:
    """Return a history of the readable cycles, None when there are none."""
    from nexus_mcp.merging.scanner import salvage

    try:
        return salvage(data).data
    except MergeUndecided:
        return None


def _from_head(committed: Committed, unmerged: Unmerged = lambda: None, *, is_there: bool = True) -> str:
    """Return the next step for a file that is absent or not repairable: restore it from HEAD; "" if impossible."""
    try:
        whole = None if unmerged() is not None else committed(HEAD)
        result = None if whole is None else restore(None, whole, HEAD)
    except MergeUndecided:
        return ""
    if result is None or not (result.cycles or is_there):
        return ""
    cycles = f"{result.cycles} cycle{'s' * (result.cycles != 1)}"
    backup = " and keeps a copy of the current file" if is_there else ""
    command = f"nexus-mcp history repair --from {HEAD}"
    return f"{HEAD} has a complete copy of it, with {cycles}: {command} restores that{backup}."


def _diagnose_readable(data: bytes, cycles: int, unmerged: Unmerged) -> Diagnosis:
    from nexus_mcp.merging.threeway import combine

    try:
        sides = unmerged()
        found = None if sides is None else combine(data, *sides)
    except MergeUndecided as undecided:
        fault = f"{SHOWN_HISTORY} is readable, but git may have a conflict for it, with cycles that the file lacks"
        return Hopeless(fault, undecided.reason, undecided.next_step or _COMPARE)
    if found is None or not found.lacking:
        return Healthy(cycles, is_unmerged=found is not None)
    origins = origins_of_sides(found.data, sides)
    return Conflict(
        found.data,
        found.cycles,
        ours=found.ours,
        theirs=found.theirs,
        origins=origins,
        others=found.others,
        readable=cycles,
    )


def _diagnose_conflict(data: bytes, unmerged: Unmerged) -> Conflict:
    from nexus_mcp.merging.threeway import combine, union

    sides = conflict.split(data)
    merged = union(*sides)
    kept = unmerged()
    if kept is None:
        origins = origins_of_sides(merged, sides)
        return Conflict(
            merged, _count(merged), ours=_count(sides[0]), theirs=_count(sides[1]), origins=origins, others=None
        )
    # Outside the markers git merged by lines, so cycles of one side may be missing there. Cycles that a user resolved
    # by hand are only in the file. So the result has the cycles of the file and of both sides.
    found = combine(merged, *kept)
    origins = origins_of_sides(found.data, kept)
    return Conflict(
        found.data, found.cycles, ours=found.ours, theirs=found.theirs, origins=origins, others=found.others
    )


def _count(data: bytes) -> int:
    from nexus_mcp.store.history.frame import HistoryFile

    return len(HistoryFile(data).cycles)


def _diagnose_damaged(data: bytes, fault: str, unmerged: Unmerged, committed: Committed) -> DamagedFile:
    from nexus_mcp.merging.scanner import salvage

    found = salvage(data)
    try:
        sides = unmerged()
    except MergeUndecided:  # a truncated file can be salvaged without git
        sides = None
    if sides is not None:
        raise MergeUndecided(
            "git has a conflict for it, but the file has no conflict markers, so it is only one of the two sides",
            _COMPARE,
        )
    try:
        head = committed(HEAD)
    except UnknownCommit:  # no repository, or no commit yet
        return DamagedFile(fault, found, None)
    except MergeUndecided as undecided:
        return DamagedFile(fault, found, None, undecided.reason)
    whole = None if head is None else _history_in(head)
    if whole is None:
        return DamagedFile(fault, found, None)
    try:
        return DamagedFile(fault, found, restore(found.data, whole, HEAD))
    except MergeUndecided as undecided:
        return DamagedFile(fault, found, None, undecided.reason)


def _history_in(data: bytes) -> bytes | None:
    """Return `data` if it is a history, else a history of its readable cycles; None when there are none."""
    from nexus_mcp.store.history.frame import HistoryFile

    try:
        HistoryFile(data)
    except StateError:
        return readable(data)
    return data
