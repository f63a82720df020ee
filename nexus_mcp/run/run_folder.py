"""The files of runs below `.nexus/state`: the lock, the event log of each run, and the small files beside it.

Every open goes through store/folder.py, so no link leads out of the project. Files are private to the user: they hold
prompts, transcripts and diffs.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import psutil

from nexus_mcp.errors import NexusError, StorageError
from nexus_mcp.run.events import AnyEvent, Event, encodable, parse, render
from nexus_mcp.run.processes import is_alive
from nexus_mcp.state import times
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import PRIVATE, Folder, close_fd, reason
from nexus_mcp.store.run_files import LOCK, RUNS, read_holder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOG = "events.jsonl"
HEADER = "run.json"
LOG_LIMIT = 256 << 20
_SMALL = 16 << 20
_TRIES, _PAUSE, _READER_S = 10, 0.02, 10.0
_SHOWN = 40
_LATER = frozenset(
    (
        *("usage", "session", "phase", "guard", "task_ready", "worktree_made", "process_ended", "collected", "check"),
        *("checkout", "verdict", "attempt_planned", "process_started", "judged", "merged", "task_done"),
    )
)
"""Events that `append` does not sync. A later sync writes them to disk: before the action that an event announces, the
caller waits for `flush`."""


class RunBusy(NexusError):
    """Another run of this project holds the lock."""


class LogLost(StorageError):
    """The log of the run cannot be written, so the run cannot continue: its next actions would not be recorded."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            path,
            "write",
            why,
            next_step="The sessions at work were ended; their files are in their worktrees. Free some space or correct "
            "the permissions, then continue with nexus-mcp run.",
        )


class RunLock:
    """The lock of all runs of a project, held while the object is open. Only the kernel's lock counts, not the content
    of the file.
    """

    def __init__(self, state: Folder) -> None:
        """Take the lock in `.nexus/state`. Raise RunBusy if another process has it, StorageError, PathRefused."""
        if fcntl is None:
            raise StorageError(state.show(LOCK), "lock", "this system has no flock")
        try:
            self._fd = state.open(LOCK, os.O_RDWR | os.O_CREAT, PRIVATE)
        except OSError as error:
            raise StorageError(state.show(LOCK), "open", reason(error)) from error
        self._shown = state.show(LOCK)
        if not self._is_taken():
            holder = read_holder(self._fd)
            self.close()
            held = holder.describe() if holder else "another process"
            raise RunBusy(
                f"Another run works on this project: {held}.",
                next_step="nexus-mcp run status shows it; nexus-mcp run stop ends it.",
            ) from None

    def _is_taken(self) -> bool:
        """Take the lock and return True; False if another run keeps it.

        A process that only reads the state of the run holds the lock for a moment, which is long on a machine under
        load: so try again for _READER_S seconds, but stop after _TRIES if the holder named in the file is alive.
        """
        began, tries = time.monotonic(), 0
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                tries += 1
                holder = read_holder(self._fd) if tries >= _TRIES else None
                is_run = holder is not None and is_alive(holder.pid, holder.create_time)
                if is_run or time.monotonic() - began > _READER_S:
                    return False
                time.sleep(_PAUSE)
            else:
                return True

    def name(self, run: str) -> None:
        """Write the holder into the lock file, for the messages of other processes."""
        me = psutil.Process()
        process = {"run": run, "pid": me.pid, "create_time": me.create_time(), "host": socket.gethostname()}
        data = json.dumps({**process, "since": times.stamp(time.time())}).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, data, 0)

    def close(self) -> None:
        """Release the lock."""
        if self._fd >= 0:
            close_fd(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class EventLog:
    """The log of one run, open to append. `append` returns when the event is in the file, and on disk unless its type
    is in _LATER; `flush` returns when all events are on disk.
    """

    def __init__(self, folder: Folder) -> None:
        """Open the log in the folder of the run. Raise StorageError, PathRefused."""
        self._shown = folder.show(LOG)
        self.events, self.torn = read_log(folder)
        self.unknown = unknown_types(folder) if self.torn else []
        self._seq = self.events[-1].seq if self.events else 0
        self._synced = self._seq
        self._syncing: asyncio.Future[None] | None = None
        self._in_use = threading.Lock()  # held while a thread syncs the file
        self._is_torn = False  # a write failed, so the file may end within a line
        try:
            self._fd = folder.open(LOG, os.O_RDWR | os.O_APPEND | os.O_CREAT, PRIVATE)
            size = os.fstat(self._fd).st_size
            if size and atomic.read_up_to(self._fd, size - 1, 1) != b"\n":
                atomic.write_all(self._fd, b"\n")  # the truncated line of a killed writer ends here
            folder.sync()
        except OSError as error:
            raise StorageError(self._shown, "open", reason(error)) from error

    def append(self, event: Event) -> AnyEvent:
        """Add the event with the next number and the present time; return it. Raise LogLost."""
        self._seq += 1
        made = event.model_copy(update={"seq": self._seq, "at": times.stamp(time.time())})
        try:
            line = render(made)
        except ValueError:  # pydantic cannot write a lone surrogate
            made = encodable(made)
            line = render(made)
        try:
            # If the last line is truncated, begin a new line: appended to the truncated one, the event would be lost.
            atomic.write_all(self._fd, b"\n" * self._is_torn + line)
            self._is_torn = False
            if getattr(made, "type", "") not in _LATER:
                self._sync()
        except OSError as error:
            self._is_torn = True
            raise LogLost(self._shown, reason(error)) from error
        self.events.append(made)  # type: ignore[arg-type]
        return made  # type: ignore[return-value]

    async def flush(self) -> None:
        """Return when each event so far is on disk. Calls at the same time share one sync. Raise LogLost."""
        wanted = self._seq
        while self._synced < wanted:
            if self._syncing is None or self._syncing.done():
                self._syncing = asyncio.ensure_future(asyncio.to_thread(self._sync))
            try:
                await asyncio.shield(self._syncing)
            except OSError as error:
                raise LogLost(self._shown, reason(error)) from error

    def _sync(self) -> None:
        """Sync the file. Raise OSError."""
        with self._in_use:
            upto = self._seq
            os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)
            self._synced = max(self._synced, upto)

    def close(self) -> None:
        """Close the file."""
        with self._in_use:
            close_fd(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_log(folder: Folder) -> tuple[list[AnyEvent], int]:
    """Return (the events, the number of lines that are not events). Raise StateError, StorageError, PathRefused."""
    data = folder.read(LOG, LOG_LIMIT) or b""
    lines = [line for line in data.split(b"\n") if line.strip()]
    events = [event for event in map(parse, lines) if event is not None]
    return events, len(lines) - len(events)


def unknown_types(folder: Folder) -> list[str]:
    """Return the types of complete lines that this version cannot read as events, each once.

    A newer version wrote these lines, or they are damaged. Raise StateError, StorageError, PathRefused.
    """
    found: dict[str, None] = {}
    for line in (folder.read(LOG, LOG_LIMIT) or b"").split(b"\n"):
        if line.strip() and parse(line) is None:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                found[str(value.get("type"))[:_SHOWN]] = None
    return list(found)


def run_id(now: float) -> str:
    """Return the id of a run that starts now: `run-2026-02-25T10-00-00-000Z`."""
    return f"run-{times.stamp(now).replace(':', '-').replace('.', '-')}"


@contextmanager
def run_folder(state: Folder, run: str, *, create: bool = False) -> Iterator[Folder | None]:
    """Open the folder of a run, None if absent; with `create` it is made. Raise PathRefused, StorageError."""
    runs = state.make(RUNS)[0] if create else state.child(RUNS)
    if runs is None:
        yield None
        return
    with runs:
        folder = runs.make(run)[0] if create else runs.child(run)
        if folder is None:
            yield None
            return
        with folder:
            yield folder


def write_json(folder: Folder, name: str, value: Any, *, is_kept: bool = True) -> None:
    """Write a small JSON file, whole or not at all; `is_kept` is as in `write_file`. Raise StorageError."""
    data = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
    write_file(folder, name, data, is_kept=is_kept)


def write_file(folder: Folder, name: str, data: bytes, *, is_kept: bool = True) -> None:
    """Write a small private file, whole or not at all. Raise StorageError.

    Without `is_kept` the file is not synced, so a power cut may lose it: its facts are also in the log. A run does not
    hold the workspace lock, so the lock holder may sweep our temporary file away: then write the file again.
    """
    for left in reversed(range(_TRIES)):
        try:
            atomic.replace(folder, name, [data], mode=PRIVATE, confirmed=False, synced=is_kept)
        except FileNotFoundError as error:
            if not left:
                raise StorageError(folder.show(name), "write", reason(error)) from error
        except OSError as error:
            raise StorageError(folder.show(name), "write", reason(error)) from error
        else:
            return


def open_to_append(folder: Folder, name: str) -> int:
    """Open a private file to append, created if absent. Raise StorageError."""
    try:
        return folder.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise StorageError(folder.show(name), "open", reason(error)) from error


def put_line(fd: int, folder: Folder, line: bytes) -> None:
    """Add a line to an open file of a folder. Raise StorageError."""
    try:
        atomic.write_all(fd, line + b"\n")
    except OSError as error:
        raise StorageError(folder.shown, "write", reason(error)) from error


def read_json(folder: Folder, name: str) -> Any:
    """Return the value of a JSON file; None if it is absent or no JSON. Raise StorageError, PathRefused."""
    data = folder.read(name, _SMALL)
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def read_file(folder: Folder, path: Sequence[str], limit: int) -> bytes | None:
    """Return the bytes of a file below a folder, None if it or a folder above it is absent. Raise StateError,
    StorageError, PathRefused.
    """
    first, *rest = path
    if not rest:
        return folder.read(first, limit)
    inner = folder.child(first)
    if inner is None:
        return None
    with inner:
        return read_file(inner, rest, limit)
