"""The index on disk, below `.nexus/state/cache/`: derived, never needed, and gone without harm at any time.

`history.index` is replaced whole. The texts are in a file of their own, which it names: bytes that some index speaks of
are never written over, so whoever reads them while somebody adds to them is not misled.

Nothing is synced. After a power cut anything may be in these files, which is why both have checksums. The index says
which inode it has itself: one that came with a clone, or was copied, is not believed.
"""

from __future__ import annotations

import json
import os
import zlib

from nexus_mcp.errors import NexusError
from nexus_mcp.store import atomic, ranges
from nexus_mcp.store.folder import let_go
from nexus_mcp.store.history.index import RECORD, Index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

FOLDER = "cache"
NAME = "history.index"
SUFFIX = ".texts"
_NEW = ".new"
OWN = 0o600  # the history may be one that others must not read
_VERSION = 1
_MOST_HEAD = 1 << 16
_MOST = 1 << 28
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
UNUSABLE = (OSError, NexusError, ValueError, KeyError, TypeError)
"""What can come of a file that anybody may have changed."""


def opened(state: Folder, *, make: bool = False) -> Folder | None:
    """The folder of the cache; None where there is none and it is not to be made. Raises OSError, NexusError."""
    return state.make(FOLDER)[0] if make else state.child(FOLDER)


def load(folder: Folder) -> Index | None:
    """The index in the cache, of whatever history; None when there is none that can be used."""
    try:
        fd = folder.open(NAME, _READ)
    except (OSError, NexusError):
        return None
    try:
        info = os.fstat(fd)
        if info.st_size > _MOST:
            return None
        data = ranges.read(fd, 0, info.st_size)
        head, _, records = data.partition(b"\n")
        return _index(head, records, [info.st_dev, info.st_ino])
    except UNUSABLE:
        return None
    finally:
        let_go(fd)


def save(folder: Folder, index: Index) -> None:
    """Put `index` in the place of the one in the cache, and let texts go that it does not name.

    Raises OSError, NexusError, ValueError.
    """
    temporary = f"history-{os.urandom(8).hex()}{_NEW}"
    fd = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWN)
    try:
        try:
            info = os.fstat(fd)
            atomic.write_all(fd, _head(index, [info.st_dev, info.st_ino]) + b"\n" + bytes(index.records))
        finally:
            let_go(fd)
        folder.rename(temporary, NAME)
    except BaseException:
        folder.unlink(temporary)
        raise
    for name in folder.names():
        # Only what is named as ours: a harness may be called as this folder is.
        if name.startswith("history-") and name.endswith((SUFFIX, _NEW)) and name != index.texts:
            folder.unlink(name)


def _head(index: Index, own: list[int]) -> bytes:
    told = {
        "version": _VERSION,
        "own": own,
        "history": index.identity,
        "settled": index.settled,
        "opening": index.opening,
        "closing": index.closing,
        "highest": index.highest,
        "odd_times": index.odd_times,
        "members": index.version,
        "texts": index.texts,
        "lined": index.lined,
        "checksum": index.checksum,
    }
    text = json.dumps(told).encode()
    if len(text) > _MOST_HEAD:
        raise ValueError("the head of the index is too long")
    return b"%08x %s" % (zlib.crc32(index.records, zlib.crc32(text)), text)


def _index(head: bytes, records: bytes, own: list[int]) -> Index | None:
    """The index in the two parts of the file. Raises ValueError, KeyError, TypeError."""
    told: dict[str, Any] = json.loads(head[9:])
    right = int(head[:8], 16) == zlib.crc32(records, zlib.crc32(head[9:]))
    if not right or told["version"] != _VERSION or told["own"] != own or len(records) % RECORD.size:
        return None
    index = Index()
    index.identity = tuple(told["history"])
    index.settled = told["settled"]
    index.opening, index.closing = told["opening"], told["closing"]
    index.highest, index.odd_times, index.version = told["highest"], told["odd_times"], told["members"]
    index.texts, index.lined, index.checksum = told["texts"], told["lined"], told["checksum"]
    index.records = bytearray(records)
    return index
