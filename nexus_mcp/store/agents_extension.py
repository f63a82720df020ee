"""Read, append to and shorten `.nexus/state/<harness id>/agents.extension.jsonl`.

Hooks may append without the workspace lock; only the lock holder shortens. After appending, a hook checks that the file
still has its name; if not, it appends again. The lock holder renames the file, begins a new one, and then reads the
renamed one once more. So for each line, either the lock holder reads it, or the hook that wrote it sees the rename.
Readers read the renamed file first, so the lock holder may die at any time. Nothing here is synced: a power cut ends
all sessions.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import PathRefused, StateError, StorageError
from nexus_mcp.state import agents
from nexus_mcp.store import atomic, jsonl
from nexus_mcp.store.codec import compact, encode_utf8
from nexus_mcp.store.folder import close_fd, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from nexus_mcp.state.agents import Event, Line
    from nexus_mcp.store.folder import Folder

NAME = "agents.extension.jsonl"
OLD = "agents.extension.old.jsonl"
READ_LIMIT = 16 << 20
"""Largest file that is read, in bytes."""
APPEND_LIMIT = 1 << 20
"""Largest size, in bytes, to which hooks without the lock may append. A hook can move this many bytes into the tracker
before its deadline, because the time grows only linearly (tests/lifecycle). An event that does not fit is not recorded:
an agent that it begins stays unknown, and so restricted.
"""
TIDY_FROM = 1 << 14
"""The lock holder shortens the file if it has more bytes than this."""
LONGEST_MESSAGE, MOST_PATHS = 4096, 16384
"""Largest number of characters of a last message, and of all paths of touched files (4 more for each path), in one
event that is recorded without the lock.
"""
_TRIES = 100
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT


def read(own: Folder) -> tuple[list[Line], int, int]:
    """Return (the valid lines, the number of malformed ones, the size in bytes) of both files, the renamed one first.

    Raise StateError, PathRefused, StorageError.
    """
    lines: list[Line] = []
    bad = size = 0
    for name in (OLD, NAME):
        if data := own.read(name, READ_LIMIT):
            values = [value for _, value in jsonl.lines_in(data, name)]
            good = agents.select_lines(values)
            lines += good
            bad += len(values) - len(good)
            size += len(data)
    return lines, bad, size


def is_there(own: Folder) -> bool:
    """Return whether the file or the renamed file exists. Raise PathRefused if one is no plain file, StorageError."""
    old, new = own.check_plain(OLD), own.check_plain(NAME)
    return old or new


def append(own: Folder, lines: Iterable[Line], most: int = READ_LIMIT) -> None:
    """Append the lines, without waiting.

    Raise StateError if the file would have more than `most` bytes, PathRefused, and StorageError, after which all or
    some of the bytes may be in the file.
    """
    # The first newline ends a line that a crash truncated; readers skip blank lines.
    data = b"\n" + b"\n".join(encode_utf8(compact(line)) for line in lines) + b"\n"
    try:
        for _ in range(_TRIES):
            fd = own.open(NAME, _FLAGS)
            try:
                if _is_whole(own, fd, data, most) and own.is_file(NAME, fd):
                    return
            finally:
                close_fd(fd)
    except OSError as error:
        raise StorageError(own.show(NAME), "write", reason(error)) from error
    raise StorageError(own.show(NAME), "write", "it was replaced again and again", next_step="Call again.")


def _is_whole(own: Folder, fd: int, data: bytes, most: int) -> bool:
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
        problem = "must be a plain file without hard links"
        raise PathRefused(own.show(NAME), problem, next_step="Look at what was put there and why.")
    if info.st_size + len(data) > most:
        raise StateError(own.show(NAME), f"would grow beyond {most >> 20} MiB")
    return os.write(fd, data) == len(data)  # in one write, so that the system does not mix it with other writes


def shorten(event: Event) -> tuple[Event, bool]:
    """Return (the event, with last_message and files_touched truncated to the limits of this file; whether one was)."""
    message, files = event.get("last_message", ""), event.get("files_touched", [])
    kept: list[str] = []
    size = 0
    for file in files:
        size += len(file) + 4
        if size > MOST_PATHS:
            break
        kept.append(file)
    cut = {
        **({"last_message": message[:LONGEST_MESSAGE]} if "last_message" in event else {}),
        **({"files_touched": kept} if "files_touched" in event else {}),
    }
    return {**event, **cut}, len(message) > LONGEST_MESSAGE or len(kept) < len(files)


def tidy(own: Folder, fold: Line | None, events: Set[str]) -> None:
    """Shorten the file to the line `fold`, or remove it if `fold` is None. Needs the lock.

    `events` are the ids of the events that the tracker already has; all other events stay in the file. If it has
    malformed lines, its old version is kept as a file beside it. Raise StateError, PathRefused, StorageError, OSError.
    """
    _absorb(own, events)
    try:
        own.rename(NAME, OLD)
    except FileNotFoundError:
        return
    if fold is not None:
        append(own, [fold])
    _absorb(own, events)


def _absorb(own: Folder, events: Set[str]) -> None:
    """Remove the renamed file, or set it aside if it has malformed lines. Before that, append those of its events that
    the tracker does not have.
    """
    data = own.read(OLD, READ_LIMIT)
    if data is None:
        return
    values = [value for _, value in jsonl.lines_in(data, OLD)]
    lines = agents.select_lines(values)
    late = [line for line in lines if agents.is_event(line) and line["id"] not in events]
    if late:
        append(own, late)
    if len(lines) < len(values):
        atomic.set_aside(own, OLD, f"conflict-{NAME}")
    else:
        own.unlink(OLD)
