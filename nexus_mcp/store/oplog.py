"""Append to and read the operation log, `state/oplog.jsonl`: an aid for people, and the source of undo.

An entry is added once its change is made, under the same lock. Most entries are not synced. If a crash loses an entry,
only undo is affected: it finds files that differ from the log, and refuses. The entry of a change with a cycle is
synced, because undo must not go past it: either the log has this entry, or the log is set aside.
"""

from __future__ import annotations

import stat
from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.errors import NexusError, StateError
from nexus_mcp.state import oplog
from nexus_mcp.store import atomic, jsonl, paths
from nexus_mcp.store.codec import COMPACT
from nexus_mcp.store.folder import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeGuard

    from nexus_mcp.state.oplog import Entry, Line
    from nexus_mcp.store.folder import Folder

NAME = "oplog.jsonl"
LIMIT = 1 << 20
LINE_LIMIT = LIMIT // 4
READ_LIMIT = 2 * LIMIT
SHORTEST = 100
"""The fewest bytes of an entry. Shorter lines are not parsed: to parse a file of many short, malformed lines, which
may come with a clone, would take too long under the lock.
"""
_SHORTENED = "The next recorded change shortens it or sets it aside. If you move it away, that change begins a new log."
_warned: set[str] = set()


def note(state: Folder, make: Callable[[], Entry | None], copies: Sequence[str] = ()) -> None:
    """Add the entry that `make` makes, if any, with the names of `copies`. Never raises.

    Needs the lock, after the change was made. The copies are of files that another program saved.
    """
    try:
        entry = make()
        if entry is not None:
            entry = oplog.with_copies(entry, copies) if copies else entry
            line = _line(entry)
            _append(state, line if len(line) <= LINE_LIMIT else _line(oplog.without_text(entry)))
    except Exception as error:  # noqa: BLE001 - the change is on disk, so the call must succeed
        _warn_once(state.show(NAME), error)


def note_cycle(state: Folder, make: Callable[[], Entry | None], copies: Sequence[str]) -> None:
    """Add the entry of a change with a cycle as `note` does, and sync the log. Never raises.

    Needs the lock, before the journal is removed. If it fails, the log is set aside: without this entry undo would take
    back changes from before the cycle.
    """
    try:
        entry = make()
        if entry is not None:
            _append(state, _line(oplog.with_copies(entry, copies)))
        atomic.sync_file(state, NAME)
    except Exception as error:  # noqa: BLE001 - the change is on disk, so the call must succeed
        _warn_once(state.show(NAME), error)
        _set_aside(state)


def skip_if_logged(state: Folder, entry: Entry) -> Entry | None:
    """Return the entry, None if the log has it already. Raise the errors of `read`."""
    data = state.read(NAME, READ_LIMIT) or b""
    wanted = entry["id"].encode()
    # Most often the log lacks the id, and then nothing has to be parsed.
    there = [line for line in data.split(b"\n") if wanted in line] if wanted in data else []
    return None if any(found["id"] == entry["id"] for found in map(_entry_in, there) if found) else entry


def read(state: Folder | None) -> list[Line]:
    """Return (number, entry) of every line of the log that is not blank, with None as the entry of a line that cannot
    be used; [] if there is no log. Raise StateError, PathRefused, StorageError.
    """
    try:
        found = jsonl.lines(state, NAME, READ_LIMIT, SHORTEST)
    except StateError as error:
        raise StateError(error.file, error.problem, next_step=_SHORTENED) from error
    return [(number, value if _is_ours(value) else None) for number, value in found or ()]


def _entry_in(line: bytes) -> Entry | None:
    value = jsonl.parse(line, NAME) if len(line) >= SHORTEST else None
    return value if _is_ours(value) else None


def _is_ours(value: object) -> TypeGuard[Entry]:
    # A log from a clone must not name files outside of the paths that a change may touch.
    return oplog.is_entry(value) and all(paths.is_place(file["name"]) for file in value["files"])


def _line(entry: Entry) -> bytes:
    # A lone surrogate, from a client's name, becomes an escape, as JSON has it.
    return COMPACT.encode(entry).encode("utf-8", "backslashreplace")


def _append(state: Folder, made: bytes) -> None:
    jsonl.append(state, NAME, made, LIMIT, lambda older: _entry_in(older) is not None)


def _set_aside(state: Folder) -> None:
    """Set a log aside that lacks the entry of a cycle. A link, a folder or a file with hard links stays: no entry
    was appended to it.
    """
    with suppress(OSError, NexusError):
        info = state.look(NAME)
        if info is not None and stat.S_ISREG(info.st_mode) and info.st_nlink == 1:
            atomic.set_aside(state, NAME, f"conflict-{NAME}")


def _warn_once(shown: str, error: Exception) -> None:
    if isinstance(error, atomic.SyncFailed):
        error = error.cause
    text = error.fault if isinstance(error, NexusError) else str(error)
    if isinstance(error, OSError):
        text = reason(error)
    if text not in _warned:
        _warned.add(text)
        log.warning(f"could not record a change in {shown}: {text}. The change was made; undo stops at it.")
