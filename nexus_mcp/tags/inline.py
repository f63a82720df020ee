"""Which of the things that look like tags are none: in code spans, links, images and addresses, escaped, or an index.

Follows CommonMark (https://spec.commonmark.org/0.31.2/, sections 2.4, 6.1, 6.3 to 6.5) in one pass. What a look ahead
finds is remembered, so that a message takes time in proportion to its length, whatever it is made of.
"""

from __future__ import annotations

from nexus_mcp.tags.ahead import Ahead
from nexus_mcp.tags.blocks import LONGEST_LABEL, label_of
from nexus_mcp.tags.targets import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MARKS = frozenset("\\`<:[]")
_ENDS_ADDRESS = '<"`'
_PAIRS = {")": "(", "]": "["}


def outside(text: str, start: int, end: int, candidates: Container[int], labels: Container[str]) -> list[int]:
    """Those of `candidates`, the places of opening brackets, between `start` and `end` that are tags.

    `labels` are those of the link definitions of the message.
    """
    piece = _Piece(text, start, end)
    found: list[int] = []
    opened: list[int] = []
    at = start
    while at < end:
        char = text[at]
        if char not in _MARKS:
            at += 1
        elif char == "[":
            opened.append(at)
            if at in candidates and not _is_index(text, at, start):
                found.append(at)
            at += 1
        elif char == "]":
            at += 1
            begun = opened.pop() if opened else end
            after = piece.link_end(begun, at, labels)
            if after:
                while found and found[-1] >= begun:
                    found.pop()
                if text[begun - 1 : begun] != "!":  # a link is in no link, an image may be
                    opened.clear()
                at = after
        else:
            at = piece.after(char, at)
    return found


def _is_index(text: str, at: int, start: int) -> bool:
    """Whether a name stands directly before the bracket, as in `row[d]`."""
    before = text[at - 1] if at > start else " "
    return before.isascii() and (before.isalnum() or before == "_")


class _Piece:
    """A piece of a message, and what was found out about all of it once that was needed."""

    __slots__ = ("_angle", "_close", "_end", "_less", "_runs", "_start", "_targets", "_text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._start = start
        self._end = end
        self._angle = Ahead(text, ">", end)
        self._less = Ahead(text, "<", end)
        self._close = Ahead(text, "]", end)
        self._runs: dict[int, list[int]] | None = None
        self._targets: dict[int, int] | None = None

    def after(self, char: str, at: int) -> int:
        """Where to go on behind what begins at `at` with `char`, a mark that is no bracket."""
        if char == "\\":
            return at + 2 if self._text[at + 1 : at + 2] in _PUNCTUATION else at + 1
        if char == "`":
            return self._after_code(at)
        return self._after_autolink(at) if char == "<" else self._after_address(at)

    def link_end(self, begun: int, after: int, labels: Container[str]) -> int:
        """Where the link ends whose text is in the brackets from `begun` to `after`; 0 when it is none."""
        text, end = self._text, self._end
        if begun >= end:
            return 0
        follows = text[after : after + 1] if after < end else ""
        if follows == "(":
            if self._targets is None:
                self._targets = targets(text, self._start, end)
            if after in self._targets:
                return self._targets[after]
        if not labels:
            return 0
        close = self._close.of(after) if follows == "[" else end
        if after + 1 < close < end:
            is_label = close - after < LONGEST_LABEL and text.find("[", after + 1, close) < 0
            return close + 1 if is_label and label_of(text[after + 1 : close]) in labels else 0
        # Brackets in a label are none: so each character is looked at in one label only.
        is_label = after - begun < LONGEST_LABEL and text.find("[", begun + 1, after) < 0
        if is_label and label_of(text[begun + 1 : after - 1]) in labels:
            return close + 1 if close < end else after
        return 0

    def _after_code(self, at: int) -> int:
        """Behind the code span that begins there, or behind its backticks when nothing ends it."""
        text, length = self._text, _run(self._text, at, self._end)
        if self._runs is None:
            self._runs = _runs(text, at, self._end)
        ends = self._runs.get(length, [])
        while ends and ends[-1] < at + length:
            ends.pop()
        return ends[-1] + length if ends else at + length

    def _after_autolink(self, at: int) -> int:
        close = self._angle.of(at)
        if close >= self._end or self._less.of(at + 1) < close:
            return at + 1
        inner = self._text[at + 1 : close]
        is_address = inner[:1].isalpha() and (":" in inner or "@" in inner) and not any(map(str.isspace, inner))
        return close + 1 if is_address else at + 1

    def _after_address(self, at: int) -> int:
        """Behind an address such as https://example.org/a[b], as people paste it."""
        text, end = self._text, self._end
        if not (text.startswith("//", at + 1, end) and at > self._start and text[at - 1].isalnum()):
            return at + 1
        at += 3
        depth = {"(": 0, "[": 0}
        while at < end:
            char = text[at]
            if char.isspace() or char in _ENDS_ADDRESS:
                break
            if char in depth:
                depth[char] += 1
            elif char in _PAIRS:
                if not depth[_PAIRS[char]]:
                    break
                depth[_PAIRS[char]] -= 1
            at += 1
        return at


def _run(text: str, at: int, end: int) -> int:
    """How many backticks stand there."""
    after = at
    while after < end and text[after] == "`":
        after += 1
    return after - at


def _runs(text: str, at: int, end: int) -> dict[int, list[int]]:
    """The places of the runs of backticks by their length, the last place first. Nothing escapes one that ends code."""
    found: dict[int, list[int]] = {}
    while 0 <= at < end:
        length = _run(text, at, end)
        found.setdefault(length, []).append(at)
        at = text.find("`", at + length, end)
    for places in found.values():
        places.reverse()
    return found
