"""Compare versions of a history by cycles, and decide which cycles a merge has, in which order."""

from __future__ import annotations

import json
from itertools import zip_longest

from nexus_mcp.errors import StateError
from nexus_mcp.state import shapes
from nexus_mcp.store.codec import BOM
from nexus_mcp.store.history.frame import HistoryFile

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Set
    from typing import Any


class MergeUndecided(Exception):
    """A human has to decide: no result is certainly the right one.

    `reason` ends a sentence and quotes no file content. `next_step` is a sentence, "" to use the caller's own next
    step.
    """

    def __init__(self, reason: str, next_step: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.next_step = next_step


class Side:
    """One version of a history. `name` is its name in messages, e.g. "our side"."""

    __slots__ = ("_keys", "history", "name")

    def __init__(self, history: HistoryFile, name: str) -> None:
        self.history = history
        self.name = name
        self._keys: dict[int, str] = {}

    @classmethod
    def read(cls, data: bytes, name: str) -> Side:
        """Parse `data`. Raise MergeUndecided when it is not a history, or has a newer version."""
        try:
            history = HistoryFile(data, name)
            shapes.check_writable(history.members, name)
        except StateError as error:
            raise MergeUndecided(error.fault) from error
        return cls(history, name)

    def __len__(self) -> int:
        return len(self.history.cycles)

    def text(self, index: int) -> str:
        """Return the text of a cycle as in the file."""
        start, end = self.history.spans[index]
        return self.history.text[start:end]

    def key(self, index: int) -> str:
        """Return a text that is equal for equal cycles, in any field order; 1 and 1.0 differ, 1.0 and 1.00 do not."""
        if index not in self._keys:
            exact = index in self.history.with_floats
            cycle = self.history.cycles[index]
            self._keys[index] = exact_key(self.text(index)) if exact else json.dumps(cycle, sort_keys=True)
        return self._keys[index]

    def order(self, index: int) -> tuple[str, str]:
        """Return the sort key of a cycle: its completion time, then its content, so that both sides sort alike."""
        return moment(self.history.cycles[index].get("completed_at")), self.key(index)

    def members_key(self) -> str:
        """Return a text that is equal for files whose fields other than the cycles are equal."""
        text = self.history.text
        return exact_key((text[: self.history.opening] + text[self.history.closing :]).removeprefix(BOM))


def common(one: Side, other: Side) -> int:
    """Return the number of equal cycles at the beginning of both."""
    for index in range(min(len(one), len(other))):
        if one.text(index) != other.text(index) and one.key(index) != other.key(index):
            return index
    return min(len(one), len(other))


def exact_key(text: str) -> str:
    """Return a text that is equal for equal JSON, with all digits of its numbers. `text` must be JSON.

    HistoryFile rounds numbers, so two different cycles could seem equal.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_Number, parse_int=_Number)
    # Other keys are JSON objects, so none begins with "=".
    return "=" + json.dumps(decoder.decode(text), sort_keys=True, default=_spell)


class _Number:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The prefix leaves "n" free to mark numbers.
    return {f"k{name}": value for name, value in pairs}


def _spell(number: Any) -> dict[str, str]:
    from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

    text: str = number.text
    if text.lstrip("-").isdigit():
        return {"n": text if text != "-0" else "0"}
    try:
        # Not rounded: the precision is the length of the number.
        return {"n": f"{Decimal(text).normalize(Context(prec=len(text), Emin=MIN_EMIN, Emax=MAX_EMAX))}e"}
    except ArithmeticError:  # an exponent out of range
        return {"n": f"{text}e"}


def moment(completed_at: object) -> str:
    """Return a sortable text of the time; "" for anything else, so that it comes first."""
    from datetime import UTC, datetime

    if not isinstance(completed_at, str):
        return ""
    try:
        parsed = datetime.fromisoformat(completed_at)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return parsed.isoformat(timespec="microseconds")


if TYPE_CHECKING:
    Item = tuple[Side, int]


def join(ours: Side, theirs: Side, base: Side | None, *, descends: bool) -> list[Item]:
    """Return the cycles of the merge as (side, index): all of ours, and those that theirs added and ours lacks.

    Equal cycles are counted: two equal cycles in `base` stay two, and a cycle that both sides added appears once. The
    common prefix keeps its place; later cycles are sorted by completion time, in the same order whichever side is ours.
    Without a base (None) every cycle counts as added.

    `descends`: ours descends from `base`, so a cycle of the base that ours lacks was removed or changed. Otherwise (a
    cherry-pick, a rebase onto another branch) ours may never have had it. Theirs always descends from `base`. Raise
    MergeUndecided when a side that descends lacks a cycle of the base that the other has. Raise it also when both lack
    it and have different cycles in its place: each may have changed it in its own way.
    """
    same_prefix = common(ours, theirs)
    same = same_prefix if base is None else min(same_prefix, common(ours, base))
    have, offered = _count_from(ours, same), _count_from(theirs, same)
    past = _count_from(base, same)
    had = past & (have | offered)  # without the cycles that both sides removed
    _check_grown(theirs, offered, had)
    if descends:
        _check_grown(ours, have, had)
    if base is not None and past != had:
        _check_agreed(ours, theirs, base, same, (had & have & offered).keys())
    wanted = {key: (count - had[key]) - max(0, have[key] - had[key]) for key, count in offered.items()}
    added: list[Item] = []
    for index in range(same, len(theirs)):
        key = theirs.key(index)
        if wanted[key] > 0:
            wanted[key] -= 1
            added.append((theirs, index))
    own: list[Item] = [(ours, index) for index in range(len(ours))]
    return own[:same_prefix] + sorted(own[same_prefix:] + added, key=lambda item: item[0].order(item[1]))


def _count_from(side: Side | None, start: int) -> Counter[str]:
    from collections import Counter

    return Counter() if side is None else Counter(side.key(index) for index in range(start, len(side)))


def _check_grown(side: Side, have: Counter[str], had: Counter[str]) -> None:
    lacking = (had - have).total()
    if lacking:
        what = "a cycle" if lacking == 1 else f"{lacking} cycles"
        raise MergeUndecided(f"{side.name} lacks or has changed {what} of the common ancestor")


def _check_agreed(ours: Side, theirs: Side, base: Side, start: int, stayed: Set[str]) -> None:
    """Raise MergeUndecided when ours and theirs differ in the cycles that replace removed ones.

    `stayed`: keys of the cycles that all three have; the other cycles between two such cycles are compared.
    """
    parts = zip_longest(*(_parts(side, start, stayed) for side in (base, ours, theirs)), fillvalue=())
    for removed, own, other in parts:
        # Cycles that a side closed later come after the removed ones, and do not count here.
        if own[: len(removed)] != other[: len(removed)]:
            raise MergeUndecided(
                "both sides removed or changed a cycle of the common ancestor, and differ in its place"
            )


def _parts(side: Side, start: int, stayed: Set[str]) -> list[list[str]]:
    """Return the keys of the cycles from `start` on, split at cycles that stayed."""
    parts: list[list[str]] = [[]]
    for index in range(start, len(side)):
        if side.key(index) in stayed:
            parts.append([])
        else:
            parts[-1].append(side.key(index))
    return parts
