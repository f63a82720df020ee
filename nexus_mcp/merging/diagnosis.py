"""What is wrong with a history.json, and the bytes that would mend it."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.merging import markers
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store.journal import SHOWN_HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.merging.salvage import Rest

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


class Conflict:
    """git has a conflict of it, between sides of `ours` and `theirs` cycles; `data` has the cycles of both.

    `readable` is the number of cycles in a file that can be read as it is, but lacks some of a side; None when it has
    conflict markers. `others` of the cycles are in the file, but in neither side as git keeps them; None when git does
    not.
    """

    __slots__ = ("cycles", "data", "others", "ours", "readable", "theirs")

    def __init__(
        self, data: bytes, cycles: int, ours: int, theirs: int, *, others: int | None, readable: int | None = None
    ) -> None:
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs
        self.others = others
        self.readable = readable


class Damaged:
    """It is cut off or partly unreadable; `data` has the `cycles` that can be read, `rests` tell of what cannot.

    `fault` says what a reader stumbles over.
    """

    __slots__ = ("cycles", "data", "fault", "rests")

    def __init__(self, fault: str, data: bytes, cycles: int, rests: list[Rest]) -> None:
        self.fault = fault
        self.data = data
        self.cycles = cycles
        self.rests = rests


class Hopeless:
    """It cannot be read, or lacks something, (`fault`), and to mend it is not ours to decide: `reason`.

    `next_step` is a sentence, "" where there is but to mend the file by hand.
    """

    __slots__ = ("fault", "next_step", "reason")

    def __init__(self, fault: str, reason: str, next_step: str = "") -> None:
        self.fault = fault
        self.reason = reason
        self.next_step = next_step


Diagnosis = Healthy | Conflict | Damaged | Hopeless


def diagnose(data: bytes | None, unmerged: Callable[[], tuple[bytes, bytes] | None] = lambda: None) -> Diagnosis:
    """What there is to say of these bytes of a history.json, None for no file.

    `unmerged` gives (our side, their side) as git keeps them beside a file that it could not merge, if it does. Such a
    file need not have markers: git makes none where it takes it for binary, and has our side there then.
    """
    from nexus_mcp.store.history_file import HistoryFile

    if data is None:
        return Healthy(0, absent=True)
    try:
        return _whole(data, len(HistoryFile(data).cycles), unmerged)
    except StateError as error:
        fault = error.fault
    try:
        return _conflict(data, unmerged) if markers.found(data) else _damaged(data, fault, unmerged)
    except Undecided as undecided:
        return Hopeless(fault, undecided.reason, undecided.next_step)


def _whole(data: bytes, cycles: int, unmerged: Callable[[], tuple[bytes, bytes] | None]) -> Diagnosis:
    from nexus_mcp.merging.threeway import settle

    try:
        kept = unmerged()
        found = None if kept is None else settle(data, *kept)
    except Undecided as undecided:
        fault = f"{SHOWN_HISTORY} can be read, but git may have a conflict of it, and cycles that it lacks"
        return Hopeless(fault, undecided.reason, undecided.next_step or _COMPARE)
    if found is None or not found.lacking:
        return Healthy(cycles, is_unmerged=found is not None)
    return Conflict(found.data, found.cycles, found.ours, found.theirs, others=found.others, readable=cycles)


def _conflict(data: bytes, unmerged: Callable[[], tuple[bytes, bytes] | None]) -> Conflict:
    from nexus_mcp.merging.threeway import settle, union

    sides = markers.split(data)
    merged = union(*sides)
    kept = unmerged()
    if kept is None:
        return Conflict(merged, _count(merged), _count(sides[0]), _count(sides[1]), others=None)
    # Outside the markers git has merged lines, so what was there on one side only may be missing between them. And
    # what somebody has resolved by hand is in the file alone. So the result has the cycles of both.
    found = settle(merged, *kept)
    return Conflict(found.data, found.cycles, found.ours, found.theirs, others=found.others)


def _count(data: bytes) -> int:
    from nexus_mcp.store.history_file import HistoryFile

    return len(HistoryFile(data).cycles)


def _damaged(data: bytes, fault: str, unmerged: Callable[[], tuple[bytes, bytes] | None]) -> Damaged:
    from nexus_mcp.merging.salvage import salvage

    found = salvage(data)
    try:
        kept = unmerged()
    except Undecided:  # nobody needs git for a file that was cut off, and nothing is done unasked
        kept = None
    if kept is not None:
        raise Undecided("git has a conflict of it, and it has no conflict markers, so it is one side of two", _COMPARE)
    return Damaged(fault, found.data, found.cycles, found.rests)
