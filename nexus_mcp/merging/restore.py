"""Combine a damaged history with the one of a commit, and list the origin of each cycle."""

from __future__ import annotations

from collections import Counter

from nexus_mcp.merging.threeway import assemble
from nexus_mcp.merging.versions import Side

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.merging.versions import Item

THE_FILE = "the file"


class Origin:
    """A run of cycles from one `source`, from number `first` to number `last`, counted from 1.

    `times` are the `completed_at` of these two as in the file: escape them before printing.
    """

    __slots__ = ("first", "last", "source", "times")

    def __init__(self, first: int, last: int, source: str, times: tuple[object, object]) -> None:
        self.first = first
        self.last = last
        self.source = source
        self.times = times


def origins(made: Side, sources: Sequence[tuple[str, Side]], otherwise: str = "") -> list[Origin]:
    """Return the origins of all cycles of `made`, in order. `sources` are (name, history); a cycle may be in several.

    `otherwise` is the source of a cycle that none of them has.
    """
    keys = [(name, {side.key(index) for index in range(len(side))}) for name, side in sources]
    found: list[Origin] = []
    for index in range(len(made)):
        key = made.key(index)
        source = " and ".join(name for name, there in keys if key in there) or otherwise
        time = made.history.cycles[index].get("completed_at")
        if found and found[-1].source == source:
            found[-1].last = index + 1
            found[-1].times = found[-1].times[0], time
        else:
            found.append(Origin(index + 1, index + 1, source, (time, time)))
    return found


def origins_of_sides(data: bytes, sides: tuple[bytes, bytes] | None) -> list[Origin]:
    """Return the origins of the cycles in `data`, the result for both `sides` of a conflict; [] without sides."""
    if sides is None:
        return []
    named = [(name, Side.read(side, name)) for name, side in zip(("our side", "their side"), sides, strict=True)]
    return origins(Side.read(data, "the result"), named, "the file alone")


class Restored:
    """The result: `data` has `cycles` cycles with these `origins`; `lacking` of them were missing in the file."""

    __slots__ = ("cycles", "data", "lacking", "origins")

    def __init__(self, data: bytes, cycles: int, lacking: int, origins: list[Origin]) -> None:
        self.data = data
        self.cycles = cycles
        self.lacking = lacking
        self.origins = origins


def restore(file: bytes | None, commit: bytes, revision: str) -> Restored:
    """Return all cycles that the `commit` has, in its order, then those that only the `file` has, in the file's order.

    `file` is the readable part, None for nothing; `revision` is the name of the commit. Repeated cycles stay repeated.
    Raises Undecided when the commit has no history, or one of a newer version.
    """
    base = Side.read(commit, f"the copy in {revision}")
    own = None if file is None else Side.read(file, THE_FILE)
    have = Counter(base.key(index) for index in range(len(base)))
    added: list[Item] = []
    common = 0
    for index in range(0 if own is None else len(own)):
        assert own is not None
        key = own.key(index)
        if have[key] > 0:
            have[key] -= 1
            common += 1
        else:
            added.append((own, index))
    data = commit
    if own is not None and added:
        data = assemble([*((base, index) for index in range(len(base))), *added], base, own, base)
    made = Side.read(data, "the result")
    sources = [(THE_FILE, own)] if own is not None else []
    sources_of_cycles = origins(made, [*sources, (revision, base)])
    return Restored(data, len(made), len(base) - common, sources_of_cycles)
