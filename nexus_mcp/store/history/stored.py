"""The index as bytes on disk, and back. A header tells whether the rest is worth reading.

All of it may come from anybody, so nothing is believed: not a size, not an offset, not a name of a file.
"""

from __future__ import annotations

import json
import struct
import zlib
from array import array
from operator import le, lt

from nexus_mcp.store.history import LIMIT
from nexus_mcp.store.history.index import NUMBERS, RECORD, Index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

HEADER = struct.Struct("=8sQQQQL")
"""Magic, device and inode of the file itself, bytes of the head, bytes of the records, checksum of both."""
MOST = 1 << 28
_MAGIC = b"nexus\0i1"
_MOST_HEAD = 1 << 12
_PREFIX, _SUFFIX = "history-", ".texts"
_NUMBERS = ("opening", "closing", "highest", "tail", "lined", "checked", "checksum")


def to_bytes(index: Index, device: int, inode: int) -> bytes:
    """Raises ValueError when it would be larger than what is read back."""
    told = {name: getattr(index, name) for name in (*_NUMBERS, "identity", "settled", "version", "texts")}
    head = json.dumps(told).encode()
    if len(head) > _MOST_HEAD or len(index.records) > MOST - HEADER.size - _MOST_HEAD:
        raise ValueError("the index is too large to be kept")
    checksum = zlib.crc32(index.records, zlib.crc32(head))
    header = HEADER.pack(_MAGIC, device, inode, len(head), len(index.records), checksum)
    return header + head + bytes(index.records)


def sizes(header: bytes, size: int, device: int, inode: int) -> int:
    """How many bytes the head has, by the header of a file of `size` bytes. Raises ValueError when it is not ours."""
    magic, *own, head, records, _ = HEADER.unpack(header)
    if magic != _MAGIC or own != [device, inode] or head > _MOST_HEAD or HEADER.size + head + records != size:
        raise ValueError("it is no index, or one of another file")
    return int(head)


def from_bytes(header: bytes, head: bytes, records: bytes) -> Index:
    """Raises ValueError, KeyError, TypeError, RecursionError when it is not what `to_bytes` makes."""
    if HEADER.unpack(header)[-1] != zlib.crc32(records, zlib.crc32(head)):
        raise ValueError("it is not what was written")
    told: dict[str, Any] = json.loads(head)
    index = Index()
    for name in _NUMBERS:
        setattr(index, name, _number(told[name]))
    index.identity = tuple(map(_number, told["identity"]))  # type: ignore[assignment]
    index.settled = told["settled"] is True
    index.version, index.texts = told["version"], told["texts"]
    index.records = bytearray(records)
    _check(index)
    return index


def is_name(name: object) -> bool:
    """Whether a file of texts of ours may be called so."""
    if not isinstance(name, str) or not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
        return False
    middle = name[len(_PREFIX) : -len(_SUFFIX)]
    return len(middle) == 16 and middle.isascii() and middle.isalnum()


def name_of(number: str) -> str:
    """The name of a file of texts; `number` has 16 hexadecimal digits."""
    return f"{_PREFIX}{number}{_SUFFIX}"


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no number where one belongs")
    return value


def _check(index: Index) -> None:
    """Raises ValueError when it could not be the index of any history."""
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
