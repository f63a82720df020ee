"""Where each cycle lies in history.json, and what else of it is asked for again and again."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from nexus_mcp.store.history.identity import Identity

RECORD = struct.Struct("=QQQQ24s16s")
"""Of each cycle: begin, end, where the line of its text ends (0 while there is none), the highest plan id up to here,
`completed_at` where that has 24 ASCII characters (else NULs), and a digest of the bytes from the end of the one before
(for the first: from the bracket) to its end, NULs where none was made."""
NUMBERS = RECORD.size // 8
"""A record, as so many unsigned numbers of 8 bytes; the first three are as said."""
STAMP = 24
NO_DIGEST = bytes(16)
_TEXT_AT = 2 * 8
_STAMP_AT = 4 * 8
_STAMPS = struct.Struct(f"={_STAMP_AT}x{STAMP}s{RECORD.size - _STAMP_AT - STAMP}x")
"""A record, of which the stamp alone is read."""
_BEYOND = (1 << 64) - 1  # stands for any plan id that is not below it


class Index:
    """The cycles of one history.json, oldest first. Offsets are in bytes.

    `opening` is where their array begins, after its bracket; `closing` where the bracket stands that closes it;
    `highest` the highest plan id, 0 for none; `version` the file's `schema_version`, as a member of an object that has
    nothing else.

    It is of the file that had this `identity`; `settled` as identity.is_settled says; `tail` is a checksum of its last
    bytes. `texts` names the file that has a line for each of the first `lined` cycles. `checksum` is that of the first
    `checked` bytes of that file, which may have more lines than that: of cycles that are gone.
    """

    __slots__ = (
        "checked",
        "checksum",
        "closing",
        "highest",
        "identity",
        "lined",
        "opening",
        "records",
        "settled",
        "tail",
        "texts",
        "version",
    )

    def __init__(self) -> None:
        self.identity: Identity | None = None
        self.settled = False
        self.records = bytearray()
        self.opening = self.closing = -1
        self.highest = 0
        self.version: dict[str, Any] = {}
        self.tail = 0
        self.texts = ""
        self.lined = self.checked = self.checksum = 0

    def __len__(self) -> int:
        return len(self.records) // RECORD.size

    def add(self, begin: int, end: int, completed_at: object, plan_id: int, digest: bytes) -> None:
        """One more cycle; `plan_id` is 0 for none."""
        self.highest = max(self.highest, plan_id)
        stamp = completed_at.encode() if isinstance(completed_at, str) and completed_at.isascii() else b""
        if len(stamp) != STAMP:
            stamp = bytes(STAMP)
        self.records += RECORD.pack(begin, end, 0, min(self.highest, _BEYOND), stamp, digest)

    def span(self, number: int) -> tuple[int, int]:
        """(begin, end) of the cycle `number`, from 0."""
        begin, end, *_ = RECORD.unpack_from(self.records, number * RECORD.size)
        return begin, end

    def stamp(self, number: int) -> str:
        """Its `completed_at`, "" where that is no stamp of 24 characters."""
        found: bytes = RECORD.unpack_from(self.records, number * RECORD.size)[4]
        return found.decode() if any(found) else ""

    def digest(self, number: int) -> bytes:
        """Its digest."""
        found: bytes = RECORD.unpack_from(self.records, number * RECORD.size)[5]
        return found

    def ended_at(self, completed_at: str) -> list[int]:
        """The numbers of the cycles with this `completed_at`, which has to be a stamp of 24 characters."""
        return list(self._places(completed_at))

    def has_stamp(self, stamp: str) -> bool:
        """Whether a cycle has this stamp of 24 characters."""
        return any(True for _ in self._places(stamp))

    def stamps(self) -> set[bytes]:
        """All stamps that cycles have; NULs are among them where one has none."""
        return {stamp for (stamp,) in _STAMPS.iter_unpack(self.records)}

    def _places(self, stamp: str) -> Iterator[int]:
        wanted, at = stamp.encode(), -1
        while (at := self.records.find(wanted, at + 1)) >= 0:
            if at % RECORD.size == _STAMP_AT:
                yield at // RECORD.size

    def line_ends(self) -> Sequence[int]:
        """Where the lines of the texts end, in bytes."""
        from array import array

        return array("Q", bytes(self.records))[_TEXT_AT // 8 :: NUMBERS][: self.lined]

    def add_line(self, size: int) -> None:
        """The next cycle without a line has one of so many bytes."""
        end = self.lines_end + size
        struct.pack_into("=Q", self.records, self.lined * RECORD.size + _TEXT_AT, end)
        self.lined += 1

    @property
    def lines_end(self) -> int:
        """Where the last line ends, 0 without one."""
        end: int = RECORD.unpack_from(self.records, (self.lined - 1) * RECORD.size)[2] if self.lined else 0
        return end

    def without_lines(self) -> None:
        """Forget the texts."""
        self.texts, self.lined, self.checked, self.checksum = "", 0, 0, 0

    def copy(self) -> Index:
        """One that may be changed: what somebody else may be reading never is."""
        made = Index()
        for name in Index.__slots__:
            setattr(made, name, getattr(self, name))
        made.records = bytearray(self.records)
        return made

    def beginning(self, count: int) -> Index:
        """A new index of the first `count` cycles alone; of none where their highest plan id is not known."""
        kept = self.copy()
        kept.identity, kept.settled = None, False
        del kept.records[count * RECORD.size :]
        kept.highest = RECORD.unpack_from(kept.records, (count - 1) * RECORD.size)[3] if len(kept) else 0
        if kept.highest == _BEYOND:
            return Index()
        kept.lined = min(kept.lined, count)
        if not kept.lined:
            kept.without_lines()
        return kept


def digest(data: bytes) -> bytes:
    """16 bytes that no other data has, however it was made."""
    import hashlib  # 4 MB, which a server without a long history does without

    return hashlib.sha256(data).digest()[: len(NO_DIGEST)]
