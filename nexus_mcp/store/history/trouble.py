"""Says what is wrong with a history.json that cannot be read, and where; of a long one without having all of it."""

from __future__ import annotations

from json import JSONDecodeError

from nexus_mcp.errors import StateError
from nexus_mcp.store import ranges
from nexus_mcp.store.codec import Invalid, json_fault
from nexus_mcp.store.history import SHOWN
from nexus_mcp.store.history_file import HistoryFile, advice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.history.building import Unreadable

WHOLE = 16 << 20
"""Bytes. A file up to that is read again as a whole, which tells the very place. It takes five times as much memory, so
of a longer one the line is told after which it is wrong."""
_MARKERS = (b"\n<<<<<<< ", b"\n>>>>>>> ")
_LONGEST = 8


def explain(fd: int, size: int, found: Unreadable) -> None:
    """Raises StateError for what was found in the file `fd`; returns when it is there no more. Raises OSError."""
    if size <= WHOLE:
        HistoryFile(ranges.read(fd, 0, size))
        return
    marker, line = _lines(fd, size, found.at)
    if marker:
        raise StateError(SHOWN, "has git conflict markers", where=f"line {marker}", next_step=advice())
    raise StateError(SHOWN, _problem(found.cause), where=f"after line {line}", next_step=advice())


def _lines(fd: int, size: int, offset: int) -> tuple[int, int]:
    """(the line of the first conflict marker, 0 for none; the line that the offset is in)."""
    lines, line = 1, 1
    for at in range(0, size, ranges.CHUNK):
        start = max(0, at - _LONGEST)
        data = ranges.read(fd, start, min(size, at + ranges.CHUNK))
        found = [place for place in map(data.find, _MARKERS) if place >= 0]
        if found:
            place = min(found) + 1
            return lines + data.count(b"\n", at - start, place) if place > at - start else lines, 0
        if at <= offset:
            line = lines + data.count(b"\n", at - start, max(at, offset) - start)
        lines += data.count(b"\n", at - start)
    return 0, line


def _problem(cause: Exception) -> str:
    if isinstance(cause, Invalid):
        return str(cause)
    if isinstance(cause, JSONDecodeError):
        return json_fault(cause)[1]
    if isinstance(cause, UnicodeDecodeError):
        return "is not UTF-8"
    if isinstance(cause, RecursionError):
        return "is nested too deeply"
    return f"is not a valid history file: {cause}"
