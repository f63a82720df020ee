"""history.json as text: where each cycle lies in it, and how one is added without touching the bytes of the others.

The text is walked, not only parsed, because a search compares numbers as the file spells them and an append must
keep old cycles whatever their layout, number spelling or line ends.
"""

from __future__ import annotations

import json
from json.decoder import WHITESPACE, JSONDecodeError, scanstring  # type: ignore[attr-defined]

from nexus_mcp.errors import StateError
from nexus_mcp.store.codec import (
    ARCHIVE_DEPTH,
    BOM,
    MAX_DIGITS,
    Invalid,
    compact,
    guarded,
    pretty,
    strict_decoder,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SHOWN = ".nexus/history.json"
_EMPTY = '{\n  "cycles": []\n}\n'
_ADVICE = (
    "Run nexus-mcp history repair --dry-run to see what can be kept of it, and how (the file as it is stays beside), "
    "or restore it from a copy; then call again."
)


class HistoryFile:
    """A history.json as it was read; an absent one has no cycles. Raises StateError when it is none.

    `cycles` are the parsed cycles, oldest first; `members` the other members of the file. In `text` each cycle lies
    where `spans` says, (start, end); their array begins after `opening` characters and `closing` is where its bracket
    stands. `with_floats` are the indexes of cycles with numbers that several spellings may stand for.
    """

    __slots__ = ("_decoder", "_floats", "closing", "cycles", "members", "opening", "spans", "text", "with_floats")

    def __init__(self, data: bytes | None, file: str = SHOWN) -> None:
        self.text = _EMPTY if data is None else text_of(data, file, _ADVICE)
        self.cycles: list[dict[str, Any]] = []
        self.members: dict[str, Any] = {}
        self.spans: list[tuple[int, int]] = []
        self.opening = self.closing = -1
        self.with_floats: set[int] = set()
        self._floats = 0
        self._decoder = strict_decoder(self._float, self._int)
        guarded(self.text, file, self._walk, ARCHIVE_DEPTH, _ADVICE)
        if self.closing < 0:
            raise StateError(file, "is not a valid history file: /cycles must be an array of objects")
        for index, cycle in enumerate(self.cycles):
            if not isinstance(cycle, dict):
                raise StateError(file, f"is not a valid history file: /cycles/{index} must be of type object")

    def with_cycle(self, cycle: dict[str, Any]) -> list[bytes]:
        """The file's new bytes, in parts: all up to the last cycle as it was, the new one, the rest as it was."""
        text = "\n".join(f"    {line}" for line in pretty(cycle).split("\n"))
        if self.spans:
            cut = self.spans[-1][1]
            added = f",\n{text}"
        else:
            cut = self.opening  # the white space of an empty array goes, it held nothing
            added = f"\n{text}\n  "
        rest = self.text[cut if self.spans else self.closing :]
        if not rest.endswith("\n"):
            rest += "\n"
        return [self.text[:cut].encode(), added.encode("utf-8", "backslashreplace"), rest.encode()]

    def has(self, cycle: dict[str, Any]) -> bool:
        """Whether an equal cycle is there, as JSON values: member order does not matter, 1, 1.0 and true differ."""
        wanted = _canonical(cycle)
        return any(
            old.get("completed_at") == cycle.get("completed_at") and _canonical(old) == wanted
            for old in reversed(self.cycles)
        )

    def texts(self) -> Iterator[str]:
        """Each cycle's JSON text without insignificant white space: non-ASCII plain, numbers as the file has them."""
        for index, (start, end) in enumerate(self.spans):
            text, cycle = self.text[start:end], self.cycles[index]
            # A float or a minus zero can be spelled in many ways, so such a cycle is compacted from its text;
            # for all others writing the parsed value comes to the same and is ten times faster.
            spelled = index in self.with_floats or _has_minus_zero(text)
            yield _escaped(_squeezed(text) if spelled else compact(cycle), text)

    def _walk(self) -> dict[str, Any]:
        """Fill the slots; returns all that was parsed, for the depth check."""
        at = self._skip(len(BOM) if self.text.startswith(BOM) else 0)
        if self._char(at) != "{":
            self._decoder.raw_decode(self.text, at)
            raise Invalid("is not a valid history file: it must be an object")
        at = self._skip(at + 1)
        names: set[str] = set()
        while self._char(at) != "}":
            if names:
                self._expect(at, ",", "Expecting ',' delimiter")
                at = self._skip(at + 1)
            self._expect(at, '"', "Expecting property name enclosed in double quotes")
            name, at = scanstring(self.text, at + 1)
            if name in names:
                raise Invalid("has an object with the same key twice", "key")
            names.add(name)
            at = self._skip(at)
            self._expect(at, ":", "Expecting ':' delimiter")
            at = self._skip(at + 1)
            if name == "cycles" and self._char(at) == "[":
                at = self._walk_cycles(at)
            else:
                self.members[name], at = self._decoder.raw_decode(self.text, at)
            at = self._skip(at)
        if self._skip(at + 1) != len(self.text):
            raise JSONDecodeError("Extra data", self.text, self._skip(at + 1))
        return {**self.members, "cycles": self.cycles}

    def _walk_cycles(self, at: int) -> int:
        self.opening = at + 1
        at = self._skip(at + 1)
        while self._char(at) != "]":
            if self.cycles:
                self._expect(at, ",", "Expecting ',' delimiter")
                at = self._skip(at + 1)
            floats = self._floats
            cycle, end = self._decoder.raw_decode(self.text, at)
            if self._floats > floats:
                self.with_floats.add(len(self.cycles))
            self.cycles.append(cycle)
            self.spans.append((at, end))
            at = self._skip(end)
        self.closing = at
        return at + 1

    def _float(self, text: str) -> float:
        # Nothing of an old cycle is ever written from its value, so one that no float can hold does no harm here.
        self._floats += 1
        return float(text)

    def _int(self, text: str) -> float:
        return int(text) if len(text) <= MAX_DIGITS else self._float(text)

    def _char(self, at: int) -> str:
        return self.text[at : at + 1]

    def _skip(self, at: int) -> int:
        found = WHITESPACE.match(self.text, at)
        return at if found is None else found.end()

    def _expect(self, at: int, char: str, problem: str) -> None:
        if self._char(at) != char:
            raise JSONDecodeError(problem, self.text, at)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _has_minus_zero(text: str) -> bool:
    import re

    return re.search(r"[\s:\[,]-0[\s,\]}]", text) is not None


def _squeezed(text: str) -> str:
    import re

    return re.sub(r'"(?:[^"\\]++|\\.)*+"|[ \t\r\n]+', _token, text)


def _escaped(compacted: str, text: str) -> str:
    """`compacted`, with the lone surrogates that `text` brought in as escapes, as JSON writers leave them."""
    if "\\ud" not in text and "\\uD" not in text:
        return compacted
    import re

    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", compacted)


def _token(found: Any) -> str:
    token: str = found[0]
    if token[0] != '"':
        return ""
    return compact(json.loads(token)) if "\\" in token else token
