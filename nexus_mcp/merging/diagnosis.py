"""What is wrong with a history.json, and the bytes that would mend it."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.merging import markers
from nexus_mcp.merging.undecided import Undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.merging.salvage import Rest


class Healthy:
    """It can be read as it is, and has so many `cycles`; or it is `absent`, because nothing was closed yet."""

    __slots__ = ("absent", "cycles")

    def __init__(self, cycles: int, *, absent: bool = False) -> None:
        self.cycles = cycles
        self.absent = absent


class Conflict:
    """It has git conflict markers, between sides of `ours` and `theirs` cycles; `data` has the cycles of both.

    `others` of its cycles are in the file, but in neither side as git keeps them; None when git does not.
    """

    __slots__ = ("cycles", "data", "others", "ours", "theirs")

    def __init__(self, data: bytes, cycles: int, ours: int, theirs: int, others: int | None) -> None:
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs
        self.others = others


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
    """It cannot be read (`fault`), and to mend it is not ours to decide: `reason`."""

    __slots__ = ("fault", "reason")

    def __init__(self, fault: str, reason: str) -> None:
        self.fault = fault
        self.reason = reason


Diagnosis = Healthy | Conflict | Damaged | Hopeless


def diagnose(data: bytes | None, unmerged: Callable[[], tuple[bytes, bytes] | None] = lambda: None) -> Diagnosis:
    """What there is to say of these bytes of a history.json, None for no file.

    `unmerged` gives (our side, their side) as git keeps them beside a file with conflict markers, if it does.
    """
    from nexus_mcp.store.history_file import HistoryFile

    if data is None:
        return Healthy(0, absent=True)
    try:
        return Healthy(len(HistoryFile(data).cycles))
    except StateError as error:
        fault = error.fault
    try:
        return _conflict(data, unmerged) if markers.found(data) else _damaged(data, fault)
    except Undecided as undecided:
        return Hopeless(fault, undecided.reason)


def _conflict(data: bytes, unmerged: Callable[[], tuple[bytes, bytes] | None]) -> Conflict:
    from nexus_mcp.merging.threeway import union, with_cycles

    sides = markers.split(data)
    merged = union(*sides)
    kept = unmerged()
    if kept is None:
        return Conflict(merged, _count(merged), _count(sides[0]), _count(sides[1]), None)
    # Outside the markers git has merged lines, so what was there on one side only may be missing between them. And
    # what somebody has resolved by hand is in the file alone. So the result has the cycles of both.
    ours, theirs = kept
    merged = with_cycles(merged, ours, "our side in git")
    merged = with_cycles(merged, theirs, "their side in git")
    either = with_cycles(ours, theirs, "their side in git")
    return Conflict(merged, _count(merged), _count(ours), _count(theirs), _count(merged) - _count(either))


def _count(data: bytes) -> int:
    from nexus_mcp.store.history_file import HistoryFile

    return len(HistoryFile(data).cycles)


def _damaged(data: bytes, fault: str) -> Damaged:
    from nexus_mcp.merging.salvage import salvage

    found = salvage(data)
    return Damaged(fault, found.data, found.cycles, found.rests)
