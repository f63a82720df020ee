"""Tell which cycles of a mended history came from where."""

from __future__ import annotations

from nexus_mcp.merging.side import Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Origin:
    """Cycles that follow each other, from number `first` to number `last`, counted from 1, and have one `source`.

    `times` are the `completed_at` of these two, as they are in the file: not yet safe for a terminal.
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


def of_sides(data: bytes, sides: tuple[bytes, bytes] | None) -> list[Origin]:
    """Return the origins of the cycles in `data`, which has those of both `sides` of a conflict; none without sides."""
    if sides is None:
        return []
    named = [(name, Side.read(side, name)) for name, side in zip(("our side", "their side"), sides, strict=True)]
    return origins(Side.read(data, "the result"), named, "the file alone")
