"""Merge two versions of history.json that come from one: what `git merge` does to lines, done to cycles."""

from __future__ import annotations

from nexus_mcp.merging.assemble import assembled, shell_of
from nexus_mcp.merging.join import join
from nexus_mcp.merging.side import Side, common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.merging.join import Item


def merge(base: bytes | None, ours: bytes, theirs: bytes, *, descends: bool = True) -> bytes:
    """The merged file. `base` None: both sides made it. `descends` as for join. Raises Undecided.

    The bytes of every cycle are those of a side, ours where it is in both, and the layout is that of ours.
    """
    one, other = Side.read(ours, "our side"), Side.read(theirs, "their side")
    past = None if base is None else Side.read(base, "the common past")
    shell = shell_of(one, other, past)
    return assembled(join(one, other, past, descends=descends), one, other, shell)


class Settled:
    """`data`: a history of `cycles` cycles. `ours`, `theirs`: how many each side has. `others`: how many neither has.

    `lacking` of them were not in the file.
    """

    __slots__ = ("cycles", "data", "lacking", "others", "ours", "theirs")

    def __init__(self, data: bytes, cycles: int, *, ours: int, theirs: int, others: int, lacking: int) -> None:
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs
        self.others = others
        self.lacking = lacking


def settle(file: bytes, ours: bytes, theirs: bytes) -> Settled:
    """The cycles of both sides as git has them, then those that only `file` has, each once. Raises Undecided.

    How often a cycle is in the file does not count: git, merging lines, may have taken it from each side. The file's
    spelling does, and what it holds beside its cycles.
    """
    one, other = Side.read(ours, "our side in git"), Side.read(theirs, "their side in git")
    own = Side.read(file, "the file")
    there: dict[str, list[int]] = {}
    for index in reversed(range(len(own))):
        there.setdefault(own.key(index), []).append(index)
    joined, kept = join(one, other, None, descends=False), common(one, other)
    sides = {side.key(index) for side, index in joined}
    others: list[Item] = [(own, places[-1]) for key, places in there.items() if key not in sides]
    wanted = joined[:kept] + sorted(joined[kept:] + others, key=lambda item: item[0].order(item[1]))
    items: list[Item] = []
    for side, index in wanted:
        places = there.get(side.key(index))
        items.append((own, places.pop()) if places else (side, index))
    data = assembled(items, own, one if len(one) else other, own)
    lacking = sum(side is not own for side, _ in items)
    return Settled(data, len(items), ours=len(one), theirs=len(other), others=len(others), lacking=lacking)


def union(ours: bytes, theirs: bytes) -> bytes:
    """The cycles of both, each once, where nothing is known of what they come from. Raises Undecided."""
    return merge(None, ours, theirs)
