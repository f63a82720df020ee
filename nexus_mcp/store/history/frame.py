"""Parse history.json around its cycles: the object that holds them, and what lies between them."""

from __future__ import annotations

from json.decoder import WHITESPACE, JSONDecodeError, scanstring  # type: ignore[attr-defined]

from nexus_mcp.store.codec import BOM, MAX_DIGITS, Invalid, strict_decoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Frame:
    """Walks a text that begins as history.json does. `members` are the members of the file beside its cycles.

    A text that is cut off raises JSONDecodeError as one that is no JSON does. Then begin anew, with more of it.
    """

    __slots__ = ("_decoder", "_names", "floats", "members")

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}
        self.floats = 0
        """How many numbers were read that several spellings may stand for."""
        self._names: set[str] = set()
        self._decoder = strict_decoder(self._float, self._int)

    def enter(self, text: str) -> int:
        """The position after the bracket that opens the cycles; -1 when the file ends and has none."""
        at = skip(text, len(BOM) if text.startswith(BOM) else 0)
        if text[at : at + 1] != "{":
            self._decoder.raw_decode(text, at)
            raise Invalid("is not a valid history file: it must be an object")
        return self._members(text, skip(text, at + 1))

    def element(self, text: str, at: int, *, first: bool) -> tuple[Any, int, int] | None:
        """(value, start, end) of the next cycle from `at`, None when the bracket comes that closes them."""
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
        # Nothing of an old cycle is ever written from its value, so one that no float can hold does no harm here.
        self.floats += 1
        return float(text)

    def _int(self, text: str) -> float:
        return int(text) if len(text) <= MAX_DIGITS else self._float(text)


def skip(text: str, at: int) -> int:
    """The position of the first character from `at` that is no white space."""
    found = WHITESPACE.match(text, at)
    return at if found is None else found.end()


def _expect(text: str, at: int, char: str, problem: str) -> None:
    if text[at : at + 1] != char:
        raise JSONDecodeError(problem, text, at)
