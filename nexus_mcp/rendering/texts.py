"""Stored text for documents: invisible characters as escapes, widths in columns or pixels, lines that fit a card."""

from __future__ import annotations

import re
import unicodedata

from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_JOINERS = re.compile("(?<=[^\x00-\x7f])([\u200c\u200d])(?=[^\x00-\x7f])")
"""Joiners between two non-ASCII characters, as in emoji and Persian words, which escapes would make unreadable."""
_TAB = 4


def visible(text: str) -> str:
    """Return `text` on one line: runs of white space as one blank, without those at the ends, and control and invisible
    characters as escapes.
    """
    return _escape(" ".join(text.split()))


def visible_lines(text: str) -> list[str]:
    """Return the lines of `text` without trailing white space, with tabs as blanks, and with control and invisible
    characters as escapes. Line ends at the beginning and the end of `text` are dropped.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(_TAB).strip("\n").split("\n")
    return [_escape(line.rstrip()) for line in lines]


def _escape(text: str) -> str:
    """Return `text` with control, bidirectional and other invisible characters, except _JOINERS, as escapes."""
    if text.isprintable() and text.isascii():
        return text
    parts = _JOINERS.split(text)
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(parts))


def columns(text: str) -> int:
    """Return how many columns of a fixed-width font `text` takes: wide characters two, combining marks and
    format characters none.
    """
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else unicodedata.category(char) not in ("Mn", "Me", "Cf")
        for char in text
    )


def pixels(text: str) -> float:
    """Estimate how many pixels `text` takes in a proportional font of 13 pixels: rather too many than too few."""
    return sum(_pixels(char) for char in text)


def _pixels(char: str) -> float:
    if char in _NARROW:
        return 4.7
    if char in _WIDE or char.isupper():
        return 11.5 if char in _WIDE else 9.0
    return 7.4 * columns(char)


_NARROW, _WIDE = frozenset(" iIjlftr.,;:'|!()[]`"), frozenset("mwMW@%&")


def fit(text: str, width: float, most: int, measure: Callable[[str], float] = columns) -> list[str]:
    """Return `text` in at most `most` lines whose `measure` is at most `width`; the last one ends with `…` if text is
    left.

    A word that is wider than a line is divided, and the cut before `…` may divide any word. A line has at least one
    character, even if that is wider than `width`.
    """
    lines: list[str] = []
    rest = text
    while rest and len(lines) < most:
        line = _head(rest, width, measure)
        if len(line) < len(rest) and len(lines) + 1 == most:
            lines.append(_head(rest, width - measure("…"), measure).rstrip() + "…")
            break
        if len(line) < len(rest) and " " in line and rest[len(line)] != " ":
            line = line[: line.rindex(" ")]
        lines.append(line.rstrip())
        rest = rest[len(line) :].lstrip()
    return lines


def _head(text: str, width: float, measure: Callable[[str], float]) -> str:
    """Return as many characters of `text` as fit into `width`, at least one."""
    used = 0.0
    for at, char in enumerate(text):
        used += measure(char)
        if used > width and at:
            return text[:at]
    return text
