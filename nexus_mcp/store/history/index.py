"""The index of history.json: the position of each cycle, and the few values that calls need most often.

The index file may be corrupt or forged, so every size, offset and file name is checked.
"""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from operator import le, lt

from nexus_mcp.store.history import LIMIT

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from nexus_mcp.store.history.identity import Identity

RECORD = struct.Struct("=QQQQ24s16s")
"""The record of a cycle: its begin and end, the end of its line in the file that Index.texts names (0 without a line),
and the highest plan id of this and all earlier cycles. Then the stamp: `completed_at`, or NULs if that is not a text of
24 ASCII characters. Last a digest of the bytes from the end of the cycle before (for the first cycle: from the offset
after the opening bracket) to the end of this cycle, or NULs if no digest was computed.
"""
NUMBERS = RECORD.size // 8
"""The size of a record in units of 8 bytes; its first three units are begin, end and end of the line."""
STAMP = 24
NO_DIGEST = bytes(16)
_TEXT_AT = 2 * 8
_STAMP_AT = 4 * 8
_STAMPS = struct.Struct(f"={_STAMP_AT}x{STAMP}s{RECORD.size - _STAMP_AT - STAMP}x")
"""Unpacks only the stamp of a record."""
_BEYOND = (1 << 64) - 1  # stored for this plan id and all higher ones


class Index:
    """The cycles of one history.json, oldest first. Offsets are in bytes.

    `opening` is the offset after the bracket that opens the array of cycles, `closing` that of the bracket that closes
    it. `highest` is the highest plan id, 0 for none. `version` is {"schema_version": its value in the file}, or {}.

    The index is of the file with this `identity`; `settled` says whether any later write to that file is certain to
    change its identity; `tail` is a checksum of its last bytes. `texts` names the file of texts, which has a line for
    each of the first `lined` cycles. `checksum` is the checksum of its first `checked` bytes, which may also have lines
    of removed cycles.
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
        """Add a cycle; `plan_id` is 0 for none."""
        self.highest = max(self.highest, plan_id)
        stamp = completed_at.encode() if isinstance(completed_at, str) and completed_at.isascii() else b""
        if len(stamp) != STAMP:
            stamp = bytes(STAMP)
        self.records += RECORD.pack(begin, end, 0, min(self.highest, _BEYOND), stamp, digest)

    def span(self, number: int) -> tuple[int, int]:
        """Return (begin, end) of the cycle `number`, from 0."""
        begin, end, *_ = RECORD.unpack_from(self.records, number * RECORD.size)
        return begin, end

    def stamp(self, number: int) -> str:
        """Return `completed_at` of the cycle `number`, "" if that is no stamp of 24 characters."""
        found: bytes = RECORD.unpack_from(self.records, number * RECORD.size)[4]
        return found.decode() if any(found) else ""

    def digest(self, number: int) -> bytes:
        """Return the digest of the cycle `number`, NO_DIGEST if it was not computed."""
        found: bytes = RECORD.unpack_from(self.records, number * RECORD.size)[5]
        return found

    def ended_at(self, completed_at: str) -> list[int]:
        """Return the numbers of the cycles with this `completed_at`, a stamp of 24 characters."""
        return list(self._places(completed_at))

    def has_stamp(self, stamp: str) -> bool:
        """Return whether a cycle has this stamp of 24 characters."""
        return any(True for _ in self._places(stamp))

    def stamps(self) -> set[bytes]:
        """Return the stamps of all cycles; a cycle without one adds NULs."""
        return {stamp for (stamp,) in _STAMPS.iter_unpack(self.records)}

    def _places(self, stamp: str) -> Iterator[int]:
        wanted, at = stamp.encode(), -1
        while (at := self.records.find(wanted, at + 1)) >= 0:
            if at % RECORD.size == _STAMP_AT:
                yield at // RECORD.size

    def line_ends(self) -> Sequence[int]:
        """Return the ends of the lines of the texts, in bytes."""
        from array import array

        return array("Q", bytes(self.records))[_TEXT_AT // 8 :: NUMBERS][: self.lined]

    def add_line(self, size: int) -> None:
        """Add the line of the next cycle without a line; `size` is its number of bytes."""
        end = self.lines_end + size
        struct.pack_into("=Q", self.records, self.lined * RECORD.size + _TEXT_AT, end)
        self.lined += 1

    @property
    def lines_end(self) -> int:
        """Return the end of the last line, 0 without one."""
        end: int = RECORD.unpack_from(self.records, (self.lined - 1) * RECORD.size)[2] if self.lined else 0
        return end

    def without_lines(self) -> None:
        """Forget the texts."""
        self.texts, self.lined, self.checked, self.checksum = "", 0, 0, 0

    def copy(self) -> Index:
        """Return a copy that may be changed, because another thread may be reading the original."""
        made = Index()
        for name in Index.__slots__:
            setattr(made, name, getattr(self, name))
        made.records = bytearray(self.records)
        return made

    def beginning(self, count: int) -> Index:
        """Return a new index of the first `count` cycles, an empty one if their highest plan id is not known."""
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


CACHE_FROM_BYTES = 256 << 10
"""The minimum size in bytes of a history whose index is cached. Each process indexes a shorter history itself, in a few
milliseconds.
"""


def digest(data: bytes) -> bytes:
    """Return a cryptographic digest of `data`, 16 bytes long."""
    import hashlib  # imported late: hashlib takes 4 MB, and only a long history needs it

    return hashlib.sha256(data).digest()[: len(NO_DIGEST)]


HEADER = struct.Struct("=8sQQQQL")
"""Magic number, device and inode of the index file, sizes of the head and of the records in bytes, checksum of both."""
MOST = 1 << 28
_MAGIC = b"nexus\0i1"
_MOST_HEAD = 1 << 12
_PREFIX, _SUFFIX = "history-", ".texts"
_NUMBERS = ("opening", "closing", "highest", "tail", "lined", "checked", "checksum")


def to_bytes(index: Index, device: int, inode: int) -> bytes:
    """Return the bytes of the index file that has this device and inode. Raise ValueError if the index is too large."""
    fields = {name: getattr(index, name) for name in (*_NUMBERS, "identity", "settled", "version", "texts")}
    head = json.dumps(fields).encode()
    if len(head) > _MOST_HEAD or len(index.records) > MOST - HEADER.size - _MOST_HEAD:
        raise ValueError("the index is too large to be kept")
    checksum = zlib.crc32(index.records, zlib.crc32(head))
    header = HEADER.pack(_MAGIC, device, inode, len(head), len(index.records), checksum)
    return header + head + bytes(index.records)


def sizes(header: bytes, size: int, device: int, inode: int) -> int:
    """Return how many bytes the head has, from the header of a file of `size` bytes. Raise ValueError if the header is
    not that of an index file with this size, device and inode.
    """
    magic, *own, head, records, _ = HEADER.unpack(header)
    if magic != _MAGIC or own != [device, inode] or head > _MOST_HEAD or HEADER.size + head + records != size:
        raise ValueError("it is no index, or one of another file")
    return int(head)


def from_bytes(header: bytes, head: bytes, records: bytes) -> Index:
    """Return the index. Raise ValueError, KeyError, TypeError, RecursionError for bytes that
    `to_bytes` does not make.
    """
    if HEADER.unpack(header)[-1] != zlib.crc32(records, zlib.crc32(head)):
        raise ValueError("its checksum does not match")
    fields: dict[str, Any] = json.loads(head)
    index = Index()
    for name in _NUMBERS:
        setattr(index, name, _number(fields[name]))
    index.identity = tuple(map(_number, fields["identity"]))  # type: ignore[assignment]
    index.settled = fields["settled"] is True
    index.version, index.texts = fields["version"], fields["texts"]
    index.records = bytearray(records)
    _check(index)
    return index


def is_name(name: object) -> bool:
    """Return whether `name` is a valid name of a file of texts."""
    if not isinstance(name, str) or not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
        return False
    middle = name[len(_PREFIX) : -len(_SUFFIX)]
    return len(middle) == 16 and middle.isascii() and middle.isalnum()


def name_of(number: str) -> str:
    """Return the name of a file of texts; `number` has 16 hexadecimal digits."""
    return f"{_PREFIX}{number}{_SUFFIX}"


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no number where one belongs")
    return value


def _check(index: Index) -> None:
    """Raise ValueError if `index` cannot be the index of any history."""
    if not all(_rules(index)):
        raise ValueError("it is the index of no history")


def _rules(index: Index) -> Iterator[bool]:
    yield index.identity is not None and len(index.identity) == 5
    yield isinstance(index.version, dict) and index.version.keys() <= {"schema_version"}
    yield len(index.records) % RECORD.size == 0
    yield 0 <= index.lined <= len(index)
    values = array("Q", bytes(index.records))
    begins, ends, lines = (values[place::NUMBERS] for place in range(3))
    yield index.opening <= (begins[0] if begins else index.closing)
    yield (ends[-1] if ends else index.opening) <= index.closing < LIMIT
    yield all(map(lt, begins, ends))
    yield all(map(le, ends, begins[1:]))
    yield all(map(lt, lines[: index.lined], lines[1 : index.lined]))
    yield (is_name(index.texts) and lines[index.lined - 1] <= index.checked) if index.lined else index.texts == ""
