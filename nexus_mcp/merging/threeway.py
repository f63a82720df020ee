"""Merge versions of history.json by cycles, as `git merge` merges by lines, and restore a corrupt history.json from a
commit.

Each cycle keeps the bytes of one of the versions.
"""

from __future__ import annotations

from collections import Counter

from nexus_mcp.merging.versions import MergeUndecided, Side, common, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.merging.versions import Item
    from nexus_mcp.store.history.frame import HistoryFile

THE_FILE = "the file"
_LEAD = "\n    "


def assemble(items: Sequence[Item], ours: Side, theirs: Side, shell: Side) -> bytes:
    """Return a history with the cycles `items` and the other fields of `shell`.

    The text around the cycles is taken from the sides where possible. If `items` begins with the first cycles of ours,
    these are copied with the text between them. Raise MergeUndecided when the result would lose or change a cycle or a
    field, or would be too large to be read back.
    """
    as_is = 0
    while as_is < len(items) and items[as_is] == (ours, as_is):
        as_is += 1
    both = [side.history for side in (ours, theirs) if len(side)]
    lead = _lead(both[0]) if both else _LEAD
    comma = next((_between(history) for history in both if len(history.cycles) > 1), f",{lead}")
    begin = [ours.history.text[ours.history.spans[0][0] : ours.history.spans[as_is - 1][1]]] if as_is else []
    body = comma.join([*begin, *(side.text(index) for side, index in items[as_is:])])
    outer = shell.history
    if items:
        body = (_lead(outer) if len(shell) else lead) + body + (_trail(outer) if len(shell) else _trail(both[0]))
    else:
        body = outer.text[outer.opening : outer.closing]
    data = f"{outer.text[: outer.opening]}{body}{outer.text[outer.closing :]}".encode()
    _check(data, items, shell)
    return data


def shell_of(ours: Side, theirs: Side, base: Side | None) -> Side:
    """Return the side whose other fields (schema_version, fields of a newer version) fit the merge of both.

    Raise MergeUndecided if both sides changed them, or if it is unknown which side did.
    """
    own, other = ours.members_key(), theirs.members_key()
    before = None if base is None else base.members_key()
    if other in (own, before):
        return ours
    if own == before:
        return theirs
    raise MergeUndecided("the two sides differ in fields other than the cycles")


def _check(data: bytes, items: Sequence[Item], shell: Side) -> None:
    from nexus_mcp.store.journal import HISTORY_LIMIT

    if len(data) > HISTORY_LIMIT:
        raise MergeUndecided(f"the result would be larger than {HISTORY_LIMIT >> 20} MiB")
    result = Side.read(data, "the result")
    texts = [result.text(index) for index in range(len(result))]
    if texts != [side.text(index) for side, index in items] or result.members_key() != shell.members_key():
        raise MergeUndecided("the result would lose or change a cycle or a field")


def _lead(history: HistoryFile) -> str:
    return history.text[history.opening : history.spans[0][0]]


def _between(history: HistoryFile) -> str:
    return history.text[history.spans[-2][1] : history.spans[-1][0]]


def _trail(history: HistoryFile) -> str:
    return history.text[history.spans[-1][1] : history.closing]


def merge(base: bytes | None, ours: bytes, theirs: bytes, *, descends: bool = True) -> bytes:
    """Return the merged file. `base` is None without a common ancestor; `descends` as for join. Raise MergeUndecided.

    The text of a cycle in both sides is taken from ours.
    """
    one, other = Side.read(ours, "our side"), Side.read(theirs, "their side")
    past = None if base is None else Side.read(base, "the common ancestor")
    shell = shell_of(one, other, past)
    return assemble(join(one, other, past, descends=descends), one, other, shell)


class Combination:
    """The result of `combine`: `data` has `cycles` cycles.

    `ours`, `theirs`: the number of cycles of each side. `others`: the number in neither side. `lacking`: the number
    that the file lacked.
    """

    def __init__(self, data: bytes, cycles: int, ours: int, *, theirs: int, others: int, lacking: int) -> None:
        self.data = data
        self.cycles = cycles
        self.ours = ours
        self.theirs = theirs
        self.others = others
        self.lacking = lacking


def combine(file: bytes, ours: bytes, theirs: bytes) -> Combination:
    """Combine the cycles of both sides in git's index with those that only `file` has. Raise MergeUndecided.

    A cycle that several of the three versions have counts once. A cycle that only the file repeats counts once, too,
    because git, when it merges by lines, may have taken it from both sides. The text of a cycle comes from the file if
    the file has the cycle; the other fields come from the file.
    """
    one, other = Side.read(ours, "our side in git"), Side.read(theirs, "their side in git")
    own = Side.read(file, "the file")
    there: dict[str, list[int]] = {}
    for index in reversed(range(len(own))):
        there.setdefault(own.key(index), []).append(index)
    joined, same = join(one, other, None, descends=False), common(one, other)
    sides = {side.key(index) for side, index in joined}
    others: list[Item] = [(own, places[-1]) for key, places in there.items() if key not in sides]
    wanted = joined[:same] + sorted(joined[same:] + others, key=lambda item: item[0].order(item[1]))
    items: list[Item] = []
    for side, index in wanted:
        places = there.get(side.key(index))
        items.append((own, places.pop()) if places else (side, index))
    data = assemble(items, own, one if len(one) else other, own)
    lacking = sum(side is not own for side, _ in items)
    return Combination(data, len(items), ours=len(one), theirs=len(other), others=len(others), lacking=lacking)


def union(ours: bytes, theirs: bytes) -> bytes:
    """Return a history with the cycles of both sides, merged without a common ancestor. Raise MergeUndecided."""
    return merge(None, ours, theirs)


class Origin:
    """A sequence of cycles from one `source`, from number `first` to number `last`, counted from 1.

    `times` has the `completed_at` of the first and the last cycle as in the file: escape them before printing.
    """

    def __init__(self, first: int, last: int, source: str, times: tuple[object, object]) -> None:
        self.first = first
        self.last = last
        self.source = source
        self.times = times


def origins(made: Side, sources: Sequence[tuple[str, Side]], otherwise: str = "") -> list[Origin]:
    """Return the origins of all cycles of `made`, in order. `sources` are (name, history); a cycle may be in several.

    `otherwise` is the source of a cycle that none of the `sources` has.
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


class RestoreResult:
    """The result of `restore`: `data` has `cycles` cycles with these `origins`; the file lacked `lacking` of them."""

    def __init__(self, data: bytes, cycles: int, lacking: int, origins: list[Origin]) -> None:
        self.data = data
        self.cycles = cycles
        self.lacking = lacking
        self.origins = origins


def restore(file: bytes | None, commit: bytes, revision: str) -> RestoreResult:
    """Return all cycles that the `commit` has, in its order, then those that only the `file` has, in the file's order.

    `file` is the readable part, None if there is none; `revision` is the name of the commit. Repeated cycles stay
    repeated. Raise MergeUndecided when `commit` or `file` is no history or has a newer version, or when the result
    would be too large.
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
    result = Side.read(data, "the result")
    sources = [(THE_FILE, own)] if own is not None else []
    return RestoreResult(data, len(result), len(base) - common, origins(result, [*sources, (revision, base)]))
