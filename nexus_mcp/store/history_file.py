"""Parse history.json as a whole, to repair, merge or explain it: its text, and the position of each cycle.

The tools read it through an index instead (history/archive.py), which agrees on the positions.
"""

from __future__ import annotations

import json

from nexus_mcp.errors import StateError
from nexus_mcp.store.codec import ARCHIVE_DEPTH, decode_text, parse_guarded
from nexus_mcp.store.history import EMPTY, SHOWN
from nexus_mcp.store.history.frame import Frame, skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def advice() -> str:
    """What can be done about a file that is broken."""
    from nexus_mcp.program import command

    return (
        f"Run {command('history repair --dry-run')} to see what can be kept of it, and how (the file as it is stays "
        "beside), or restore it from a copy; then call again."
    )


class HistoryFile:
    """A history.json as it was read; an absent one has no cycles. Raises StateError when it is none.

    `cycles` are the parsed cycles, oldest first; `members` the other members of the file. In `text` each cycle lies
    where `spans` says, (start, end); their array begins after `opening` characters and `closing` is where its bracket
    stands. `with_floats` are the indexes of cycles with numbers that several spellings may stand for.
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
        """Whether an equal cycle is there, as JSON values: member order does not matter, 1, 1.0 and true differ."""
        wanted = canonical(cycle)
        time = cycle.get("completed_at")
        return any(old.get("completed_at") == time and canonical(old) == wanted for old in self.cycles)

    def _walk(self) -> dict[str, Any]:
        """Fill the slots; returns all that was parsed, for the depth check."""
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
    """The same for equal JSON values alone: member order does not matter, 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)
