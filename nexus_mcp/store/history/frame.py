"""Parse history.json in steps: the object that holds the cycles, and the cycles one by one.

`Frame` parses a long file part by part, for the index (parse.py). `HistoryFile` is the whole file with the position of
each cycle: to check, repair or merge it, and to locate a fault.
"""

from __future__ import annotations

import json
from json.decoder import WHITESPACE, JSONDecodeError, scanstring  # type: ignore[attr-defined]

from nexus_mcp.errors import StateError
from nexus_mcp.store.codec import ARCHIVE_DEPTH, BOM, MAX_DIGITS, Invalid, decode_text, parse_guarded, strict_decoder
from nexus_mcp.store.history import EMPTY, SHOWN

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


class Frame:
    """Parses a text that begins as history.json does. `members` are the fields read so far, without the cycles.

    A truncated text raises JSONDecodeError, as invalid JSON does: the caller then tries again with more text.
    """

    __slots__ = ("_decoder", "_names", "floats", "members")

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}
        self.floats = 0
        """Count of the numbers read so far that became a float: with a fraction, an exponent or too many digits."""
        self._names: set[str] = set()
        self._decoder = strict_decoder(self._float, self._int)

    def enter(self, text: str) -> int:
        """Return the position after the bracket that opens the array of cycles; -1 if the object has no such array."""
        at = skip(text, len(BOM) if text.startswith(BOM) else 0)
        if text[at : at + 1] != "{":
            self._decoder.raw_decode(text, at)
            raise Invalid("is not a valid history file: it must be an object")
        return self._members(text, skip(text, at + 1))

    def element(self, text: str, at: int, *, first: bool) -> tuple[Any, int, int] | None:
        """Return (value, start, end) of the next cycle from `at`, None at the bracket that closes the cycles."""
        at = skip(text, at)
        if text[at : at + 1] == "]":
            return None
        if not first:
            _expect(text, at, ",", "Expecting ',' delimiter")
            at = skip(text, at + 1)
        value, end = self._decoder.raw_decode(text, at)
        return value, at, end

    def leave(self, text: str, at: int) -> None:
        """Walk to the end of the file from `at`, which is after the bracket that closes the cycles."""
        if self._members(text, skip(text, at)) >= 0:
            raise AssertionError("the cycles came twice")

    def _members(self, text: str, at: int) -> int:
        while text[at : at + 1] != "}":
            if self._names:
                _expect(text, at, ",", "Expecting ',' delimiter")
                at = skip(text, at + 1)
            _expect(text, at, '"', "Expecting property name enclosed in double quotes")
            name, at = scanstring(text, at + 1)
            if name in self._names:
                raise Invalid("has an object with the same key twice", "key")
            self._names.add(name)
            at = skip(text, at)
            _expect(text, at, ":", "Expecting ':' delimiter")
            at = skip(text, at + 1)
            if name == "cycles" and text[at : at + 1] == "[":
                return at + 1
            self.members[name], at = self._decoder.raw_decode(text, at)
            at = skip(text, at)
        if skip(text, at + 1) != len(text):
            raise JSONDecodeError("Extra data", text, skip(text, at + 1))
        return -1

    def _float(self, text: str) -> float:
        # Old cycles are never written from their values, so a number that no float can hold is harmless.
        self.floats += 1
        return float(text)

    def _int(self, text: str) -> float:
        return int(text) if len(text) <= MAX_DIGITS else self._float(text)


def skip(text: str, at: int) -> int:
    """Return the position of the first character from `at` that is not white space."""
    found: int = WHITESPACE.match(text, at).end()
    return found


def _expect(text: str, at: int, char: str, problem: str) -> None:
    if text[at : at + 1] != char:
        raise JSONDecodeError(problem, text, at)


def advice() -> str:
    """Return the next step for a malformed file."""
    from nexus_mcp.program import command

    return (
        f"Run {command('history repair --dry-run')} to see which cycles can be kept (the repair also keeps a copy "
        "of this file), or restore it from a copy; then call again."
    )


class HistoryFile:
    """A history.json as it was read; an absent one has no cycles. Raise StateError if the file is no history.

    `cycles` are the parsed cycles, oldest first; `members` the other fields of the file. `spans` has the place of each
    cycle in `text`, (start, end). `opening` is the position after the bracket that opens their array, `closing` that of
    the bracket that closes it. `with_floats` are the positions, from 0, of cycles in which a number became a float:
    such a value may be rounded.
    """

    __slots__ = ("closing", "cycles", "members", "opening", "spans", "text", "with_floats")

    def __init__(self, data: bytes | None, file: str = SHOWN) -> None:
        self.text = EMPTY if data is None else decode_text(data, file, advice())
        self.cycles: list[dict[str, Any]] = []
        self.members: dict[str, Any] = {}
        self.spans: list[tuple[int, int]] = []
        self.opening = self.closing = -1
        self.with_floats: set[int] = set()
        parse_guarded(self.text, file, self._walk, ARCHIVE_DEPTH, advice())
        if self.closing < 0:
            raise StateError(file, "is not a valid history file: /cycles must be an array of objects")
        for index, cycle in enumerate(self.cycles):
            if not isinstance(cycle, dict):
                raise StateError(file, f"is not a valid history file: /cycles/{index} must be of type object")

    def has(self, cycle: dict[str, Any]) -> bool:
        """Return whether an equal cycle exists, compared as JSON values: the order of fields does not matter; 1, 1.0
        and true differ.
        """
        wanted = canonical(cycle)
        time = cycle.get("completed_at")
        return any(old.get("completed_at") == time and canonical(old) == wanted for old in self.cycles)

    def _walk(self) -> dict[str, Any]:
        """Fill the other slots from `text`; return all parsed values, for the depth check."""
        frame = Frame()
        self.members = frame.members
        self.opening = at = frame.enter(self.text)
        if at < 0:
            return self.members
        floats = frame.floats
        while (found := frame.element(self.text, at, first=not self.cycles)) is not None:
            cycle, start, at = found
            if frame.floats > floats:
                self.with_floats.add(len(self.cycles))
                floats = frame.floats
            self.cycles.append(cycle)
            self.spans.append((start, at))
        self.closing = skip(self.text, at)
        frame.leave(self.text, self.closing + 1)
        return {**self.members, "cycles": self.cycles}


def canonical(value: object) -> str:
    """Return a text that is the same only for equal JSON values: the order of fields does not matter; 1, 1.0 and true
    differ.
    """
    return json.dumps(value, sort_keys=True)
