"""The two sides of a file in which git left conflict markers, in the styles merge, diff3 and zdiff3.

In JSON no line begins with <, =, > or |: no token does, and no string goes over the end of a line. So whatever line
does so is a marker, of whatever length (git's attribute conflict-marker-size), and one that is out of place means that
more happened here than one merge, or that somebody has resolved a part of it.
"""

from __future__ import annotations

import re

from nexus_mcp.merging.undecided import Undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_FIRST = re.compile(rb"^<+(?=[ \r\n]|\Z)", re.MULTILINE)
_ANY = re.compile(rb"^([<=>|])\1*+(?=[ \r\n]|\Z)", re.MULTILINE)
_SUSPECT = re.compile(rb"^([<=>|])\1*[^\n]*\n?", re.MULTILINE)
# Which marker may come where, and where the lines after it belong.
_BOTH, _OURS, _BASE, _THEIRS = "both", "ours", "base", "theirs"
_NEXT = {
    (_BOTH, b"<"): _OURS,
    (_OURS, b"|"): _BASE,
    (_OURS, b"="): _THEIRS,
    (_BASE, b"="): _THEIRS,
    (_THEIRS, b">"): _BOTH,
}


def found(data: bytes) -> bool:
    """Whether there are conflict markers in `data`, which is no JSON, be it one that was left alone."""
    return _ANY.search(data) is not None


def are_whole(data: bytes) -> bool:
    """Whether the file has the markers of a conflict, with both of its sides."""
    try:
        return found(data) and bool(split(data))
    except Undecided:
        return False


def split(data: bytes) -> tuple[bytes, bytes]:
    """(our side, their side). Raises Undecided when the markers are nested, incomplete or out of order."""
    first = _FIRST.search(data)
    if first is None:
        _refuse(data, 0)
    size = len(first[0])
    sides: dict[str, list[bytes]] = {_BOTH: [], _OURS: [], _BASE: [], _THEIRS: []}
    ours, theirs = sides[_OURS], sides[_THEIRS]
    state, at = _BOTH, 0
    for line in _SUSPECT.finditer(data):
        after = _NEXT.get((state, line[1])) if _is_marker(line[0], size) else None
        if after is None:
            # Markers in what was common come from a merge of several common pasts; git makes those longer.
            if state == _BASE and not _is_marker(line[0], size):
                continue
            _refuse(data, line.start())
        part = data[at : line.start()]
        for kept in (ours, theirs) if state == _BOTH else (sides[state],):
            kept.append(part)
        state, at = after, line.end()
    if state != _BOTH:
        _refuse(data, len(data.rstrip()))
    return b"".join((*ours, data[at:])), b"".join((*theirs, data[at:]))


def _is_marker(line: bytes, size: int) -> bool:
    return line[:size] == line[:1] * size and line[size : size + 1] in (b"", b" ", b"\r", b"\n")


def _refuse(data: bytes, position: int) -> NoReturn:
    line = data.count(b"\n", 0, position) + 1
    raise Undecided(f"the conflict markers are not those of one merge (line {line})")
