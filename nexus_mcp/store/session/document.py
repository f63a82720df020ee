"""Documents (the bytes of a session file with their parsed value) and the two kinds of session files."""

from __future__ import annotations

from nexus_mcp.state import oplog, shapes
from nexus_mcp.store import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.state.oplog import PrefixChecksum

PLAN, TASKS = paths.SESSION


class Kind:
    """What a file of such a name holds: its `schema`, and the member `rows` of it that is an array of objects."""

    __slots__ = ("name", "rows", "schema", "shown")

    def __init__(self, name: str, schema: str, rows: str) -> None:
        self.name = name
        self.schema = schema
        self.rows = rows
        self.shown = f".nexus/state/{name}"


KINDS = {PLAN: Kind(PLAN, shapes.PLAN, "issues"), TASKS: Kind(TASKS, shapes.TASKS, "tasks")}


class Document:
    """The bytes of a state file, and the checked value that they mean. Neither is ever changed.

    In `data` the array of rows begins at `opening`, after its bracket, -1 where unknown, and its last row ends at
    `closing`. Row i takes `lengths[i]` bytes, with what is before it: places would all move when one row does.
    `is_ours`: the bytes are known to be laid out as we write them. `shared`: how many bytes at its beginning and at its
    end the document has that this one was made from. `summed`: what is known of the checksum of the first of them.
    """

    __slots__ = ("_mark", "_summed", "closing", "data", "is_ours", "kind", "lengths", "opening", "shared", "value")

    def __init__(
        self,
        kind: Kind,
        data: bytes,
        value: dict[str, Any],
        opening: int = -1,
        lengths: list[int] | None = None,
        *,
        closing: int = -1,
        is_ours: bool = False,
        shared: tuple[int, int] = (0, 0),
        summed: PrefixChecksum = (0, 0),
    ) -> None:
        self.kind = kind
        self.data = data
        self.value = value
        self.opening = opening
        self.lengths = lengths or []
        self.closing = closing
        self.is_ours = is_ours
        self.shared = shared
        self._summed = summed
        self._mark: dict[str, int] | None = None

    def mark(self) -> dict[str, int]:
        """What the operation log says of the bytes."""
        if self._mark is None:
            # Most often the next change adds a row, and all up to there stays.
            self._summed = oplog.extend_checksum(self.data, self._summed, max(self.closing, self._summed[0]))
            self._mark = oplog.mark(self.data, self._summed) or {}
        return self._mark

    def checksum(self) -> int:
        """The CRC-32 of the bytes."""
        return self.mark()["crc32"]

    def summed(self, most: int) -> PrefixChecksum:
        """What is known of the checksum of the first bytes, of `most` of them at most."""
        return self._summed if self._summed[0] <= most else (0, 0)
