"""What is wrong with a history.json, and the bytes that would mend it."""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.merging import markers
from nexus_mcp.merging.undecided import Undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.merging.salvage import Rest


class Healthy:
    """It can be read as it is, and has so many `cycles`; or it is `absent`, because nothing was closed yet."""

    __slots__ = ("absent", "cycles")

    def __init__(self, cycles: int, *, absent: bool = False) -> None:
        self.cycles = cycles
        self.absent = absent


class Conflict:
    """It has git conflict markers, between sides of `ours` and `theirs` cycles; `data` has the cycles of both."""

    __slots__ = ("cycles", "data", "ours", "theirs")

    def __init__(self, data: bytes, cycles: int, ours: int, theirs: int) -> None:
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs


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


def diagnose(data: bytes | None) -> Diagnosis:
    """What there is to say of these bytes of a history.json, None for no file."""
    from nexus_mcp.store.history_file import HistoryFile

    if data is None:
        return Healthy(0, absent=True)
    try:
        return Healthy(len(HistoryFile(data).cycles))
    except StateError as error:
        fault = error.fault
    try:
        return _conflict(data) if markers.found(data) else _damaged(data, fault)
    except Undecided as undecided:
        return Hopeless(fault, undecided.reason)


def _conflict(data: bytes) -> Conflict:
    from nexus_mcp.merging.side import Side
    from nexus_mcp.merging.threeway import union

    ours, theirs = markers.split(data)
    merged = union(ours, theirs)
    cycles, own, other = (len(Side.read(each, "")) for each in (merged, ours, theirs))
    return Conflict(merged, cycles, own, other)


def _damaged(data: bytes, fault: str) -> Damaged:
    from nexus_mcp.merging.salvage import salvage

    found = salvage(data)
    return Damaged(fault, found.data, found.cycles, found.rests)
