"""Which cycles two versions of a history come to together, and in which order. No bytes here."""

from __future__ import annotations

from itertools import zip_longest

from nexus_mcp.merging.side import common
from nexus_mcp.merging.undecided import Undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Set

    from nexus_mcp.merging.side import Side

    Item = tuple[Side, int]


def join(ours: Side, theirs: Side, base: Side | None, *, descends: bool) -> list[Item]:
    """Every cycle of ours, and what theirs added to `base` and ours has not: (the side it is taken from, its index).

    Cycles are counted, so two equal ones that were in `base` stay two; one that both sides added is one. What both
    begin with stays in its place, what follows is sorted by the time of completion, in the same order whichever side
    is ours. Without a base (None) everything counts as added.

    `descends` says that ours grew from `base`. A cycle of the base that it has not was then taken away or changed by
    somebody, and Undecided is raised; else (a cherry-pick, a rebase onto another branch) ours need never have had it.
    Theirs grew from it always. What both sides lack is gone, but where they differ in what is in its place, each may
    have changed it in its own way, and Undecided is raised.
    """
    kept = common(ours, theirs)
    same = kept if base is None else min(kept, common(ours, base))
    have, given = _counted(ours, same), _counted(theirs, same)
    past = _counted(base, same)
    had = past & (have | given)  # what both took away is gone, whoever did so
    _check_grown(theirs, given, had)
    if descends:
        _check_grown(ours, have, had)
    if base is not None and past != had:
        _check_agreed(ours, theirs, base, same, (had & have & given).keys())
    wanted = {key: (count - had[key]) - max(0, have[key] - had[key]) for key, count in given.items()}
    added: list[Item] = []
    for index in range(same, len(theirs)):
        key = theirs.key(index)
        if wanted[key] > 0:
            wanted[key] -= 1
            added.append((theirs, index))
    own: list[Item] = [(ours, index) for index in range(len(ours))]
    return own[:kept] + sorted(own[kept:] + added, key=lambda item: item[0].order(item[1]))


def _counted(side: Side | None, start: int) -> Counter[str]:
    from collections import Counter

    return Counter() if side is None else Counter(side.key(index) for index in range(start, len(side)))


def _check_grown(side: Side, have: Counter[str], had: Counter[str]) -> None:
    lost = (had - have).total()
    if lost:
        what = "a cycle" if lost == 1 else f"{lost} cycles"
        raise Undecided(f"{side.name} lacks, or has changed, {what} of the common past")


def _check_agreed(ours: Side, theirs: Side, base: Side, start: int, stayed: Set[str]) -> None:
    """`stayed`: keys of cycles that all three have. What is between two of them stands in for what is gone."""
    parts = zip_longest(*(_parts(side, start, stayed) for side in (base, ours, theirs)), fillvalue=())
    for gone, own, other in parts:
        # What was closed since comes behind.
        if own[: len(gone)] != other[: len(gone)]:
            raise Undecided("both sides took away, or changed, a cycle of the common past, and differ in its place")


def _parts(side: Side, start: int, stayed: Set[str]) -> list[list[str]]:
    """The keys of the cycles from `start` on, parted where a cycle stayed."""
    parts: list[list[str]] = [[]]
    for index in range(start, len(side)):
        if side.key(index) in stayed:
            parts.append([])
        else:
            parts[-1].append(side.key(index))
    return parts
