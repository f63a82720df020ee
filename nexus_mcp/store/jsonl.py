"""Append to and read files with one JSON object per line; a line that a crash truncated does no harm."""

from __future__ import annotations

import os
import stat

from nexus_mcp import log
from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.store import atomic
from nexus_mcp.store.codec import decode
from nexus_mcp.store.folder import PRIVATE, close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.store.folder import Folder

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT


def append(folder: Folder, name: str, line: bytes, limit: int, is_ours: Callable[[bytes], bool] | None = None) -> None:
    """Add `line`, and a newline, to the file `name`. Needs the lock. If the last line is truncated, it gets a newline
    first.

    Before a file grows beyond `limit` bytes, its older half is dropped; if no line of that half `is_ours`, the file is
    set aside whole. Unless lines were dropped, the line is not synced, so a power cut may lose the last lines. Raise
    OSError and NexusError; then the line is missing or truncated. Raise SyncFailed if the line is in the file, but a
    power cut may undo that.
    """
    fd = folder.open(name, _FLAGS, PRIVATE)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            problem = "must be a plain file without hard links"
            raise PathRefused(folder.show(name), problem, next_step="Look at what was put there and why.")
        data = line + b"\n"
        if info.st_size and atomic.read_up_to(fd, info.st_size - 1, 1) != b"\n":
            data = b"\n" + data
        if info.st_size + len(data) <= limit:
            atomic.write_all(fd, data)
            return
        kept = _newer_half(fd, info.st_size, limit // 2)
        ours = is_ours is None or any(map(is_ours, atomic.read_up_to(fd, 0, limit // 2).split(b"\n")))
    finally:
        close_fd(fd)
    if not ours:
        aside = atomic.set_aside(folder, name, f"conflict-{name}")
        log.warning(f"{folder.show(name)} was set aside as {aside}: it held no line of nexus-mcp")
        append(folder, name, line, limit)
        return
    # The rename is synced, unlike a line, because an unsynced rename may leave an empty file after a power cut; and it
    # is rare.
    atomic.replace(folder, name, [kept, data])


def _newer_half(fd: int, size: int, most: int) -> bytes:
    """Return the last `most` bytes of the file without their first line, which may be incomplete."""
    end = atomic.read_up_to(fd, max(0, size - most), most)
    return end.partition(b"\n")[2]


def lines(
    folder: Folder | None, name: str, limit: int, least: int = 2
) -> list[tuple[int, dict[str, Any] | None]] | None:
    """Return (number from 1, object) of each line of the file `name`, with None as the object of a malformed line.
    Return None if the file is missing.

    Blank lines are left out, and lines of less than `least` bytes count as malformed. Raise PathRefused, StorageError,
    and StateError if the file has more than `limit` bytes.
    """
    data = None if folder is None else folder.read(name, limit)
    return None if data is None else lines_in(data, name, least)


def lines_in(data: bytes, name: str, least: int = 2) -> list[tuple[int, dict[str, Any] | None]]:
    """Return the lines in the bytes of the file `name`, as `lines` does."""
    return [
        (number, parse(line, name) if len(line) >= least else None)
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.strip()
    ]


def parse(line: bytes, name: str) -> dict[str, Any] | None:
    """Return the object in a line of the file `name`, None if it is malformed."""
    try:
        value = decode(line, name)
    except StateError:
        return None
    return value if isinstance(value, dict) else None
