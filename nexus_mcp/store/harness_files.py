"""Read and write the small files of a harness in `.nexus/state/<harness id>/`, and the tool log that all harnesses
share.

`tool-log.jsonl`: which agent used which tool on which file. `memory-access.jsonl`: how often each note was read, and
which agent read it last. `hook-errors.jsonl`: failed hooks.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from nexus_mcp import schemas
from nexus_mcp.errors import NexusError, NotConfirmed, StateError, StorageError
from nexus_mcp.store import atomic, conflicts, jsonl
from nexus_mcp.store.codec import compact, encode_utf8
from nexus_mcp.store.folder import PRIVATE, Folder, close_fd, reason
from nexus_mcp.store.journal import SESSION_LIMIT
from nexus_mcp.store.replacement import Replacement, read, retry

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.store.lock import HeldLock
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

TRACKER = "agent-tracker.json"
ACCESS = "memory-access.jsonl"
TOOL_LOG = "tool-log.jsonl"


def drop_old_tracker(store: Store) -> list[str]:
    """Remove a tracker in `.nexus/state` itself, where old versions had it; return the removed paths. Raise StateError,
    PathRefused, StorageError, NotConfirmed.
    """
    with store.state() as state:
        if state is None or not state.check_plain(TRACKER):
            return []
    with store.locked_state() as (state, held):
        atomic.put(state, TRACKER, None, held.check)
        return [state.show(TRACKER)]


def tool_log(store: Store) -> tuple[list[dict[str, object]], int] | None:
    """Return (the readable lines of the tool log, the number of unreadable ones); None if there is no log.

    Raise StateError, PathRefused, StorageError.
    """
    with store.state() as state:
        lines = jsonl.lines(state, TOOL_LOG, SESSION_LIMIT)
    if lines is None:
        return None
    good = [value for _, value in lines if value is not None]
    return good, len(lines) - len(good)


@contextmanager
def own_folder(store: Store, harness_id: str) -> Iterator[tuple[Folder, HeldLock]]:
    """Open the folder of the harness with the lock held. A missing folder is created; if the block then fails with
    another error than NotConfirmed, it is removed again. Raise StateError, PathRefused, StorageError.
    """
    with store.locked_state() as (state, held):
        own, is_new = state.make(harness_id)
        with own:
            try:
                conflicts.sweep(own)
                yield own, held
            except NotConfirmed:
                raise
            except BaseException:
                if is_new:
                    state.remove_folder(harness_id)
                raise


TOOL_LOG_MAX_BYTES = 1 << 20
"""The maximum size of the tool log in bytes. Before the log grows beyond this size, its older half is dropped; about
4 000 lines remain, which cover more than an hour of use.
"""
TOOL_USE_MAX_BYTES = 1 << 16
"""The maximum number of bytes that one tool call may add to the log."""


def log_tool_uses(store: Store, lines: list[dict[str, str]]) -> bool:
    """Add the lines of one tool call and return True; return False, and add none, if they have more than
    TOOL_USE_MAX_BYTES bytes.

    Takes the lock, so that no line of another writer is lost. The log is not synced: it is advisory, so a power cut may
    lose its last lines. Raise StateError, PathRefused, StorageError and NotConfirmed. After a failed write some of the
    lines may be missing or truncated.
    """
    data = b"\n".join(encode_utf8(compact(line)) for line in lines)
    if len(data) > TOOL_USE_MAX_BYTES:
        return False
    with store.locked_state() as (state, _):
        try:
            jsonl.append(state, TOOL_LOG, data, TOOL_LOG_MAX_BYTES)
        except atomic.SyncFailed as error:
            raise NotConfirmed(state.show(TOOL_LOG), reason(error.cause)) from error
        except OSError as error:
            raise StorageError(state.show(TOOL_LOG), "write", reason(error)) from error
    return True


SCHEMA = "state/memory-access"


def note_read(store: Store, harness_id: str, path: str, agent: str) -> dict[str, Any]:
    """Count one more read by `agent` of the note at `path`, from the project root; return the note's new line.

    All other lines stay byte for byte, even unreadable ones. Raise StateError, PathRefused and StorageError with
    nothing written, NotConfirmed.
    """
    with own_folder(store, harness_id) as (own, held):
        return retry(lambda: _count_read(own, held, path, store.stamp(), agent))


def _count_read(own: Folder, held: HeldLock, path: str, now: str, agent: str) -> dict[str, Any]:
    """Try `note_read` once. Raise ChangedMeanwhile if another program saved the file."""
    original = read(own, ACCESS, SESSION_LIMIT)
    data = original.content() or b""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    at, line = _counted_line(lines, path, now, agent)
    lines[at : at + 1] = [encode_utf8(compact(line))]
    changed = b"\n".join(lines) + b"\n"
    if len(changed) > SESSION_LIMIT:
        raise StateError(own.show(ACCESS), f"would grow beyond {SESSION_LIMIT >> 20} MiB")
    Replacement(own, ACCESS, original).put(changed, held.check)
    return line


def _counted_line(lines: list[bytes], path: str, now: str, agent: str) -> tuple[int, dict[str, Any]]:
    """Return (the number of the note's line, from 0, or of a new line at the end; the line's new value)."""
    fields = {"path": path, "last_accessed_ts": now, "access_count": 1, "last_agent": agent}
    spelt = encode_utf8(compact(path))
    for number in reversed(range(len(lines))):
        line = lines[number]
        if spelt not in line and b"\\" not in line:  # a line without a backslash spells the path only in this way
            continue
        known = jsonl.parse(line, ACCESS) if line.strip() else None
        if known is None or known.get("path") != path or schemas.readable_faults(SCHEMA, known, most=1):
            continue
        return number, {**known, **fields, "access_count": int(known["access_count"]) + 1}
    return len(lines), fields


# The hook error log is advisory: nothing requires it, syncs it or waits for it. It is written without the lock, because
# the lock may be the cause of the error. One write appends a line, so lines of several processes do not mix. A full log
# is renamed to ERROR_LOG_OLD, and a new one is begun.


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


ERROR_LOG = "hook-errors.jsonl"
ERROR_LOG_OLD = "hook-errors.old.jsonl"
ERROR_LOG_MAX_BYTES = 1 << 16
ERROR_MAX_CHARACTERS = 1000
"""The maximum length of the error's text in a line, in characters."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)


def log_hook_error(workspace: Workspace, now: str, event: str, error: str) -> None:
    """Add a line to the log of hook errors, if `.nexus/state` exists. `error` must contain nothing of a payload.

    Never raises: the hook has to answer.
    """
    line = encode_utf8(compact({"timestamp": now, "event": event, "error": error[:ERROR_MAX_CHARACTERS]})) + b"\n"
    try:
        with _state(workspace) as state, state.make(workspace.harness_id, confirm=False)[0] as own:
            _append(own, line)
    except (NexusError, OSError):
        return


def _state(workspace: Workspace) -> Folder:
    """Open `.nexus/state`. Raise FileNotFoundError if absent: a failed hook must not create it. Raise PathRefused,
    StorageError.
    """
    with Folder.root(workspace.state_root) as root:
        nexus = root.child(".nexus")
        if nexus is None:
            raise FileNotFoundError
        with nexus:
            state = nexus.child("state")
    if state is None:
        raise FileNotFoundError
    return state


def _append(own: Folder, line: bytes) -> None:
    fd = own.open(ERROR_LOG, _FLAGS, PRIVATE)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            return
        if info.st_size + len(line) > ERROR_LOG_MAX_BYTES and _is_ours(own, fd):
            own.rename(ERROR_LOG, ERROR_LOG_OLD)
            new = own.open(ERROR_LOG, _FLAGS, PRIVATE)
            try:
                os.write(new, line)
            finally:
                close_fd(new)
            return
        os.write(fd, line)
    finally:
        close_fd(fd)


def _is_ours(own: Folder, fd: int) -> bool:
    """Return whether this process may rename the file: no other process has renamed it or is renaming it. The lock ends
    with the descriptor.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return own.is_file(ERROR_LOG, fd)
