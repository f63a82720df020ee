"""One version of a history, as a list of cycles that can be compared with another's."""

from __future__ import annotations

import json

from nexus_mcp.errors import StateError
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.state import shapes
from nexus_mcp.store.codec import BOM
from nexus_mcp.store.history_file import HistoryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Side:
    """A history that was read. `name` stands for it in reasons, e.g. "our side"."""

    __slots__ = ("_keys", "history", "name")

    def __init__(self, history: HistoryFile, name: str) -> None:
        self.history = history
        self.name = name
        self._keys: dict[int, str] = {}

    @classmethod
    def read(cls, data: bytes, name: str) -> Side:
        """Raises Undecided when `data` is no history, or one of a version that we may not write."""
        try:
            history = HistoryFile(data, name)
            shapes.check_writable(history.members, name)
        except StateError as error:
            raise Undecided(error.fault) from error
        return cls(history, name)

    def __len__(self) -> int:
        return len(self.history.cycles)

    def text(self, index: int) -> str:
        """The cycle as the file has it."""
        start, end = self.history.spans[index]
        return self.history.text[start:end]

    def key(self, index: int) -> str:
        """Equal for cycles that are equal as JSON: member order does not matter, 1 and 1.0 differ, 1.0 and 1.00 not."""
        if index not in self._keys:
            exact = index in self.history.with_floats
            cycle = self.history.cycles[index]
            self._keys[index] = exact_key(self.text(index)) if exact else json.dumps(cycle, sort_keys=True)
        return self._keys[index]

    def order(self, index: int) -> tuple[str, str]:
        """What cycles are sorted by: the moment of their completion, then anything that is the same on either side."""
        return moment(self.history.cycles[index].get("completed_at")), self.key(index)

    def members_key(self) -> str:
        """Equal for files that are equal in everything but their cycles."""
        text = self.history.text
        return exact_key((text[: self.history.opening] + text[self.history.closing :]).removeprefix(BOM))


def common(one: Side, other: Side) -> int:
    """How many cycles both begin with."""
    for index in range(min(len(one), len(other))):
        if one.text(index) != other.text(index) and one.key(index) != other.key(index):
            return index
    return min(len(one), len(other))


def exact_key(text: str) -> str:
    """A text that is equal for equal JSON, with numbers as exact as they are spelled, however many digits they have.

    What HistoryFile parses rounds them, so two cycles that differ could seem to be one. `text` must be JSON.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_Number, parse_int=_Number)
    # No other key begins with this: the others are JSON objects.
    return "=" + json.dumps(decoder.decode(text), sort_keys=True, default=_spelled)


class _Number:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Every name is changed in the same way, which leaves "n" free to mark the numbers.
    return {f"k{name}": value for name, value in pairs}


def _spelled(number: Any) -> dict[str, str]:
    from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

    text: str = number.text
    if text.lstrip("-").isdigit():
        return {"n": text if text != "-0" else "0"}
    try:
        # Never rounded: the precision is as large as the number is long.
        return {"n": f"{Decimal(text).normalize(Context(prec=len(text), Emin=MIN_EMIN, Emax=MAX_EMAX))}e"}
    except ArithmeticError:  # an exponent beyond all bounds
        return {"n": f"{text}e"}


def moment(completed_at: object) -> str:
    """A text to sort by; "" for what is no point in time, so that it comes first."""
    from datetime import UTC, datetime

    if not isinstance(completed_at, str):
        return ""
    try:
        parsed = datetime.fromisoformat(completed_at)
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return parsed.isoformat(timespec="microseconds")
