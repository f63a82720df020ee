"""Read the files of runs: the ids of runs, the run lock `run.lock` and its holder, status.json.

nexus_mcp/run writes the files. Servers and hooks read them with this module, so it imports no third-party library.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.program import command
from nexus_mcp.store.folder import close_fd, reason

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

LOCK = "run.lock"
RUNS = "runs"
STATUS = "status.json"
STATUS_LIMIT = 4 << 20
"""Largest status file that is read, in bytes."""
RUNNING, CRASHED = "running", "crashed"
_HELD = 4096


class Holder:
    """The process that holds the run lock, with the data that it wrote into the lock file."""

    __slots__ = ("create_time", "host", "pid", "run", "since")

    def __init__(self, run: str, pid: int, host: str, since: str, create_time: float = 0.0) -> None:
        self.run = run
        self.pid = pid
        self.host = host
        self.since = since
        self.create_time = create_time

    def describe(self) -> str:
        """Return the holder for messages."""
        return (
            f"run {self.run or '(starting)'}, process {self.pid} on {self.host or 'this machine'}, since {self.since}"
        )


def holder(state: Folder) -> Holder | None:
    """Return the process that holds the run lock now; a Holder without data if the lock file is malformed. Return None
    if the lock is free, or without flock (Windows). Raise PathRefused, StorageError.
    """
    if fcntl is None or not state.check_plain(LOCK):
        return None
    try:
        fd = state.open(LOCK, os.O_RDWR)
    except OSError as error:
        raise StorageError(state.show(LOCK), "open", reason(error)) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # also if the file system has no locks: then no executor is certain not to work
        return read_holder(fd) or Holder("", 0, "", "")
    else:
        return None
    finally:
        close_fd(fd)


def read_holder(fd: int) -> Holder | None:
    """Return the holder that is written into the open lock file, None if that is malformed or cannot be read."""
    try:
        value = json.loads(os.pread(fd, _HELD, 0))
        return Holder(
            str(value["run"]), int(value["pid"]), str(value["host"]), str(value["since"]), value["create_time"]
        )
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def is_run_id(name: str) -> bool:
    """Return whether the name has the form of a run's id, and so is a safe name of a folder."""
    return name.startswith("run-") and name.replace("-", "").isalnum() and name.isascii() and len(name) < 60


def run_ids(state: Folder) -> list[str]:
    """Return the ids of all runs of the project, oldest first. Raise PathRefused, StorageError."""
    runs = state.child(RUNS)
    if runs is None:
        return []
    with runs:
        return sorted(name for name in runs.names() if is_run_id(name))


def read_status(state: Folder, run: str) -> dict[str, Any] | None:
    """Return the valid status.json of a run, None if the run or the file is absent.

    The returned status is `crashed` if the file says `running` and no executor works on the run. Raise StateError if
    the file is malformed or too large, StorageError, PathRefused.
    """
    from nexus_mcp import schemas
    from nexus_mcp.store.codec import decode

    data, shown = _status_file(state, run)
    if data is None:
        return None
    try:
        value = decode(data, shown)
    except StateError as error:
        raise StateError(shown, error.problem, where=error.where, next_step=_next_step()) from None
    if found := schemas.faults(schemas.load("run/status"), value):
        raise StateError(shown, found[0].message, where=found[0].pointer, next_step=_next_step())
    if value["run"]["status"] == RUNNING and not is_at_work(state, run):
        value["run"].update(status=CRASHED, crashedAt=value["updatedAt"])
    return value  # type: ignore[no-any-return]


def _next_step() -> str:
    return f"{command('run status')} shows the run from its log."


def _status_file(state: Folder, run: str) -> tuple[bytes | None, str]:
    shown = state.show(f"{RUNS}/{run}/{STATUS}")
    with ExitStack() as stack:
        folder = state
        for name in (RUNS, run):
            inner = folder.child(name)
            if inner is None:
                return None, shown
            folder = stack.enter_context(inner)
        return folder.read(STATUS, STATUS_LIMIT), shown


def is_at_work(state: Folder, run: str) -> bool:
    """Return whether an executor works on the run now: also True if the lock holder has not named its run.

    Raise PathRefused, StorageError.
    """
    found = holder(state)
    return found is not None and found.run in (run, "")
