"""Keep `.nexus/state/processes.json`: the processes that runs of this project have started, with create times.

The log of a run names its processes, too. This file can be found without the log, and it survives `run --new`. If
another process has got the pid, its create time differs, so a foreign process is never ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psutil

from nexus_mcp.errors import StateError
from nexus_mcp.run import events as ev
from nexus_mcp.run.processes import end_orphan, has_left
from nexus_mcp.run.run_folder import read_json, write_json
from nexus_mcp.run.setup import Run
from nexus_mcp.store.folder import Folder

NAME = "processes.json"
_LIMIT = 16 << 20


class Registry:
    """The file processes.json, updated by the events of a run."""

    def __init__(self, state: Folder, run: Run) -> None:
        self._state = state
        self._run = run
        self._rows: list[dict[str, Any]] = []

    async def end_orphans(self) -> list[int]:
        """End the living processes of dead executors, and return their ids. Raise StateError, StorageError."""
        ended = []
        for row in rows(self._state):
            if await end(row):
                ended.append(int(row["pid"]))
                self._run.emit(ev.OrphanEnded(pid=ended[-1]))
        self._write([])
        return ended

    def take(self, event: ev.AnyEvent) -> None:
        """Add a process that started, and forget one that ended: the next write leaves it out. Raise StorageError."""
        if isinstance(event, ev.ProcessStarted) and event.pid:
            record = self._run.state.task(event.task or 0).last
            row = {
                "pid": event.pid,
                "create_time": event.create_time,
                "pgid": event.pid,
                "run": self._run.state.run,
                "task": event.task,
                "attempt": event.attempt,
                "worktree": "" if record is None else record.worktree,
                "started": event.at,
            }
            self._write([*self._rows, row])
        elif isinstance(event, ev.ProcessEnded):
            about = (event.task, event.attempt)
            self._rows = [row for row in self._rows if (row["task"], row["attempt"]) != about]
        elif isinstance(event, ev.RunEnded):
            self._write([])

    def _write(self, kept: list[dict[str, Any]]) -> None:
        self._rows = kept
        # A sync is not needed: a kill of the executor does not lose the file, and a power cut ends the processes in it.
        write_json(self._state, NAME, kept, is_kept=False)


def rows(state: Folder) -> list[dict[str, Any]]:
    """Return the rows of the file; [] without a file, or with an empty one that is older than the boot.

    Raise StateError for a corrupt file, because a process in it could otherwise run on without an executor;
    PathRefused, StorageError.
    """
    info = state.plain(NAME)
    if info is None:
        return []
    if info.st_mtime < psutil.boot_time() and not (state.read(NAME, _LIMIT) or b"").strip(b"\0"):
        return []
    value = read_json(state, NAME)
    if not isinstance(value, list) or not all(isinstance(row, dict) and _is_whole(row) for row in value):
        raise StateError(state.show(NAME), "is no list of processes")
    return value


def alive(state: Folder) -> Iterable[dict[str, Any]]:
    """Return the rows whose process, or another one of its group, is alive."""
    return [row for row in rows(state) if has_left(*_process(row))]


async def end(row: dict[str, Any]) -> bool:
    """End the processes of a row of a dead executor; return whether one was alive."""
    return await end_orphan(*_process(row))


def _process(row: dict[str, Any]) -> tuple[int, float, str]:
    return int(row["pid"]), float(row["create_time"]), str(row.get("run"))


def _is_whole(row: dict[str, Any]) -> bool:
    return isinstance(row.get("pid"), int) and isinstance(row.get("create_time"), int | float)
