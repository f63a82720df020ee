"""A history made of cycles that lie in others: their bytes as they were, in a layout that is there already."""

from __future__ import annotations

from nexus_mcp.merging.side import Side
from nexus_mcp.merging.undecided import Undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.merging.join import Item
    from nexus_mcp.store.history_file import HistoryFile

_LEAD = "\n    "


def assembled(items: Sequence[Item], ours: Side, theirs: Side, shell: Side) -> bytes:
    """The bytes of a history with these cycles, of whatever sides, and whatever else is in `shell`.

    The layout is that of one of the sides. What begins as ours does is copied from it as a whole. Raises Undecided when
    the result is not what was wanted or too large to be read back.
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
    """The side whose other members (schema_version, what a newer version adds) are right for both.

    Raises Undecided when both sides, or nobody knows which, changed them.
    """
    own, other = ours.members_key(), theirs.members_key()
    before = None if base is None else base.members_key()
    if other in (own, before):
        return ours
    if own == before:
        return theirs
    raise Undecided("the two sides differ in what the file holds beside its cycles")


def _check(data: bytes, items: Sequence[Item], shell: Side) -> None:
    from nexus_mcp.store.journal import HISTORY_LIMIT

    if len(data) > HISTORY_LIMIT:
        raise Undecided(f"the result would be larger than {HISTORY_LIMIT >> 20} MiB")
    made = Side.read(data, "the result")
    texts = [made.text(index) for index in range(len(made))]
    if texts != [side.text(index) for side, index in items] or made.members_key() != shell.members_key():
        raise Undecided("the result would not hold what it should")


def _lead(history: HistoryFile) -> str:
    return history.text[history.opening : history.spans[0][0]]


def _between(history: HistoryFile) -> str:
    return history.text[history.spans[-2][1] : history.spans[-1][0]]


def _trail(history: HistoryFile) -> str:
    return history.text[history.spans[-1][1] : history.closing]
