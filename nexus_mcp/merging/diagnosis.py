"""What is wrong with a history.json, and the bytes that would mend it."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.merging import markers
from nexus_mcp.merging.committed import HEAD, Unknown
from nexus_mcp.merging.origins import of_sides
from nexus_mcp.merging.restore import restored
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store.journal import SHOWN_HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.merging.origins import Origin
    from nexus_mcp.merging.restore import Restored
    from nexus_mcp.merging.salvage import Salvaged

    Unmerged = Callable[[], tuple[bytes, bytes] | None]
    Committed = Callable[[str], bytes | None]

_COMPARE = (
    f"See what the sides hold (git show :2:./{SHOWN_HISTORY} is ours, :3: theirs), and git add {SHOWN_HISTORY} when it "
    "has what it should."
)


class Healthy:
    """It can be read as it is, and has so many `cycles`; or it is `absent`, because nothing was closed yet.

    `is_unmerged`: git has a conflict of it that only waits for it to be added, for it has the cycles of both sides.
    """

    __slots__ = ("absent", "cycles", "is_unmerged")

    def __init__(self, cycles: int, *, absent: bool = False, is_unmerged: bool = False) -> None:
        self.cycles = cycles
        self.absent = absent
        self.is_unmerged = is_unmerged


_ABSENT = Healthy(0, absent=True)


class Conflict:
    """git has a conflict of it, between sides of `ours` and `theirs` cycles; `data` has the cycles of both.

    `origins` tell which of its cycles came from where.

    `readable` is the number of cycles in a file that can be read as it is, but lacks some of a side; None when it has
    conflict markers. `others` of the cycles are in the file, but in neither side as git keeps them; None when git does
    not.
    """

    __slots__ = ("cycles", "data", "origins", "others", "ours", "readable", "theirs")

    def __init__(
        self,
        data: bytes,
        cycles: int,
        ours: int,
        theirs: int,
        origins: list[Origin],
        *,
        others: int | None,
        readable: int | None = None,
    ) -> None:
        self.origins = origins
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs
        self.others = others
        self.readable = readable


class Damaged:
    """It is cut off or partly unreadable; `salvaged` is what can be read. `fault` says what a reader stumbles over.

    `data` has that, and what the commit that is checked out has beside it: `lacking` cycles, None where git has no copy
    to compare with. `unsure` says why that could not be told; nothing is mended then. `origins` tell which cycle of
    `data` came from where.
    """

    __slots__ = ("cycles", "data", "fault", "lacking", "origins", "salvaged", "unsure")

    def __init__(self, fault: str, salvaged: Salvaged, head: Restored | None, unsure: str = "") -> None:
        self.fault = fault
        self.salvaged = salvaged
        self.data = salvaged.data if head is None else head.data
        self.cycles = salvaged.cycles
        self.lacking = None if head is None else head.lacking
        self.origins = [] if head is None else head.origins
        self.unsure = unsure


class Lacking:
    """It lacks cycles that a commit has, or cannot be read and is to be had from there; `data` has the cycles of both.

    `fault` says why it cannot be read, "" where it can. `origins` tell which of the `cycles` came from where, `lacking`
    is how many the file has not. `revision` is the commit, as the user named it.
    """

    __slots__ = ("cycles", "data", "fault", "lacking", "origins", "revision")

    def __init__(self, fault: str, revision: str, made: Restored) -> None:
        self.fault = fault
        self.revision = revision
        self.data = made.data
        self.cycles = made.cycles
        self.lacking = made.lacking
        self.origins = made.origins


class Hopeless:
    """It cannot be read, or lacks something, (`fault`), and to mend it is not ours to decide: `reason`.

    `next_step` is a sentence, "" where there is but to mend the file by hand.
    """

    __slots__ = ("fault", "next_step", "reason")

    def __init__(self, fault: str, reason: str, next_step: str = "") -> None:
        self.fault = fault
        self.reason = reason
        self.next_step = next_step


Diagnosis = Healthy | Conflict | Damaged | Lacking | Hopeless


def diagnose(data: bytes | None, unmerged: Unmerged = lambda: None, committed: Committed = lambda _: None) -> Diagnosis:
    """What there is to say of these bytes of a history.json, None for no file.

    `unmerged` gives (our side, their side) as git keeps them beside a file that it could not merge, if it does. Such a
    file need not have markers: git makes none where it takes it for binary, and has our side there then. `committed`
    gives what a commit has of the file.
    """
    from nexus_mcp.store.history_file import HistoryFile

    if data is None:
        step = _from_head(committed, is_there=False)
        return Hopeless(f"There is no {SHOWN_HISTORY}", "there is nothing to keep", step) if step else _ABSENT
    try:
        return _whole(data, len(HistoryFile(data).cycles), unmerged)
    except StateError as error:
        fault = error.fault
    try:
        return _conflict(data, unmerged) if markers.found(data) else _damaged(data, fault, unmerged, committed)
    except Undecided as undecided:
        step = undecided.next_step or ("" if markers.are_whole(data) else _from_head(committed, unmerged))
        return Hopeless(fault, undecided.reason, step)


def readable(data: bytes) -> bytes | None:
    from nexus_mcp.merging.salvage import salvage

    try:
        return salvage(data).data
    except Undecided:
        return None


def _from_head(committed: Committed, unmerged: Unmerged = lambda: None, *, is_there: bool = True) -> str:
    """The next step for a file of which nothing can be kept: the copy in git, where that is whole; else ""."""
    try:
        whole = None if unmerged() is not None else committed(HEAD)
        made = None if whole is None else restored(None, whole, HEAD)
    except Undecided:
        return ""
    if made is None or not (made.cycles or is_there):
        return ""
    cycles = f"{made.cycles} cycle{'s' * (made.cycles != 1)}"
    kept = ", and keeps the file as it is beside it" if is_there else ""
    return f"{HEAD} has a whole copy of it, with {cycles}: nexus-mcp history repair --from {HEAD} writes that{kept}."


def _whole(data: bytes, cycles: int, unmerged: Unmerged) -> Diagnosis:
    from nexus_mcp.merging.threeway import settle

    try:
        kept = unmerged()
        found = None if kept is None else settle(data, *kept)
    except Undecided as undecided:
        fault = f"{SHOWN_HISTORY} can be read, but git may have a conflict of it, and cycles that it lacks"
        return Hopeless(fault, undecided.reason, undecided.next_step or _COMPARE)
    if found is None or not found.lacking:
        return Healthy(cycles, is_unmerged=found is not None)
    told = of_sides(found.data, kept)
    return Conflict(found.data, found.cycles, found.ours, found.theirs, told, others=found.others, readable=cycles)


def _conflict(data: bytes, unmerged: Unmerged) -> Conflict:
    from nexus_mcp.merging.threeway import settle, union

    sides = markers.split(data)
    merged = union(*sides)
    kept = unmerged()
    if kept is None:
        told = of_sides(merged, sides)
        return Conflict(merged, _count(merged), _count(sides[0]), _count(sides[1]), told, others=None)
    # Outside the markers git has merged lines, so what was there on one side only may be missing between them. And
    # what somebody has resolved by hand is in the file alone. So the result has the cycles of both.
    found = settle(merged, *kept)
    told = of_sides(found.data, kept)
    return Conflict(found.data, found.cycles, found.ours, found.theirs, told, others=found.others)


def _count(data: bytes) -> int:
    from nexus_mcp.store.history_file import HistoryFile

    return len(HistoryFile(data).cycles)


def _damaged(data: bytes, fault: str, unmerged: Unmerged, committed: Committed) -> Damaged:
    from nexus_mcp.merging.salvage import salvage

    found = salvage(data)
    try:
        kept = unmerged()
    except Undecided:  # nobody needs git for a file that was cut off, and nothing is done unasked
        kept = None
    if kept is not None:
        raise Undecided("git has a conflict of it, and it has no conflict markers, so it is one side of two", _COMPARE)
    try:
        head = committed(HEAD)
    except Unknown:  # no repository, or no commit yet
        return Damaged(fault, found, None)
    except Undecided as undecided:
        return Damaged(fault, found, None, undecided.reason)
    whole = None if head is None else _history_in(head)
    if whole is None:
        return Damaged(fault, found, None)
    try:
        return Damaged(fault, found, restored(found.data, whole, HEAD))
    except Undecided as undecided:
        return Damaged(fault, found, None, undecided.reason)


def _history_in(data: bytes) -> bytes | None:
    """The bytes, or a whole history of what can be read of them; None when that is nothing: git keeps it anyway."""
    from nexus_mcp.store.history_file import HistoryFile

    try:
        HistoryFile(data)
    except StateError:
        return readable(data)
    return data
