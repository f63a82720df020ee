"""Where the targets of links begin and end: the `(…)` behind a `]`."""

from __future__ import annotations

from nexus_mcp.tags.ahead import Ahead

_BLANKS = " \t\r\n"
_TITLES = {'"': '"', "'": "'", "(": ")"}


def targets(text: str, start: int, end: int) -> dict[int, int]:
    """Place of each `(` behind a `]` between `start` and `end` that begins a target -> place behind its `)`.

    A target is an address without blanks and with balanced parentheses, or one between < and >, and perhaps a title
    behind blanks. One pass: a blank ends all addresses that are open, and only the last of them can have a title.
    """
    found: dict[int, int] = {}
    opened: list[int] = []
    ahead, beyond = _looks(text, end), _looks(text, end)  # each is asked for rising places
    at = start
    while at < end:
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "(":
            after = _angled(text, at, end, beyond) if text.startswith("](<", at - 1) else 0
            if after:
                found[at] = after
                at = after
                continue
            opened.append(at)
        elif char == ")":
            if opened:
                _note(found, text, opened.pop(), at + 1)
        elif char in _BLANKS:
            if opened:
                _note(found, text, opened[-1], _after_title(text, at, end, ahead))
                opened.clear()
            at = _after_blanks(text, at, end)
            continue
        at += 1
    return found


def _looks(text: str, end: int) -> dict[str, Ahead]:
    return {char: Ahead(text, char, end) for char in ('"', "'", ")", ">", "\n")}


def _note(found: dict[int, int], text: str, begun: int, after: int) -> None:
    if after and begun and text[begun - 1] == "]":
        found[begun] = after


def _angled(text: str, at: int, end: int, ahead: dict[str, Ahead]) -> int:
    """Behind the `(<…>)`, or `(<…> "title")`, that begins at `at`; 0 when none does."""
    close = ahead[">"].of(at)
    return 0 if close == end or ahead["\n"].of(at) < close else _after_title(text, close + 1, end, ahead)


def _after_title(text: str, at: int, end: int, ahead: dict[str, Ahead]) -> int:
    """Behind the `)`, perhaps with a title before it, that ends a target; 0 when none is there."""
    at = _after_blanks(text, at, end)
    if at < end and text[at] in _TITLES:
        close = ahead[_TITLES[text[at]]].of(at + 1)
        if close == end:
            return 0
        at = _after_blanks(text, close + 1, end)
    return at + 1 if at < end and text[at] == ")" else 0


def _after_blanks(text: str, at: int, end: int) -> int:
    while at < end and text[at] in _BLANKS:
        at += 1
    return at
