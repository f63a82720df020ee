"""Write the status file of a run after events that change it, and the copy at a path that the user chose.

With many short sessions at work, to write the file at each of their phases would take longer than the sessions. So
events that only say how far a task is may wait for a moment, and are written together.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress

from nexus_mcp.errors import NexusError, StorageError, UsageError
from nexus_mcp.run import events as ev
from nexus_mcp.run.run_folder import write_file
from nexus_mcp.run.setup import Run
from nexus_mcp.run.status import status_file
from nexus_mcp.state import times
from nexus_mcp.store.run_files import STATUS

WAIT_S = 0.2
"""Minimum seconds between the last write and a write for an event of `_PROGRESS`."""
_PROGRESS = frozenset(("attempt_planned", "phase", "merged"))
_AT_ONCE = frozenset(
    (
        *("run_started", "question", "answered", "paused", "resumed", "run_ended", "task_failed", "task_paused"),
        *("task_blocked", "task_skipped", "task_retried", "cost_warning", "worktree_made", "task_done"),
    )
)
WRITE_POINTS = _PROGRESS | _AT_ONCE
"""Events after which the status file is written."""


class StatusPath:
    """The file at `path`, relative to the working directory. `problem` is the last fault of writing, "" for none.

    A fault is an error before the run starts, and later a warning.
    """

    def __init__(self, path: str) -> None:
        """Check that the file can be written, and create it if absent. Raise UsageError."""
        self.path = os.path.abspath(path)
        self.problem = ""
        if os.path.isdir(self.path):
            raise UsageError(f"--status-file: {path!r} is a folder.")
        self.write(b"{}\n" if not os.path.exists(self.path) else None)
        if self.problem:
            raise UsageError(f"--status-file: {path!r} cannot be written: {self.problem}.")

    def write(self, data: bytes | None) -> None:
        """Replace the file, so that a reader never sees half of it. For None, only test that its folder is writable."""
        temporary = f"{self.path}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(data or b"")
            if data is not None:
                os.replace(temporary, self.path)
            else:
                os.unlink(temporary)
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or type(error).__name__
            with suppress(OSError):
                os.unlink(temporary)


class StatusWriter:
    """The status file in the folder of a run, and a copy at each path that the user named, as a listener of events."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._written = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self.paths: list[StatusPath] = []

    def take(self, event: ev.AnyEvent) -> None:
        """Write the file if the event is one of WRITE_POINTS.

        For an event of `_PROGRESS` the write waits until WAIT_S seconds after the last write; other events of
        WRITE_POINTS are written at once.
        """
        if event.type not in WRITE_POINTS:
            return
        left = self._written + WAIT_S - time.monotonic()
        if event.type in _AT_ONCE or left <= 0:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left, self._write_later)

    def write(self) -> None:
        """Write the present status now. Raise the errors of `Run.tasks`."""
        self.close()
        run, chosen = self._run, self._run.options.tasks
        document = run.redactor.value(run.tasks())
        tasks = [task for task in document["tasks"] if chosen is None or task["id"] in chosen]
        made = status_file(run.state, tasks, run.config, times.stamp(time.time()), feature=document["goal"])
        data = made.data()
        with suppress(StorageError):  # the log is the truth; the next event writes the status again
            write_file(run.folder, STATUS, data, is_kept=False)
        for path in self.paths:
            path.write(data)
        self._written = time.monotonic()

    def _write_later(self) -> None:
        with suppress(NexusError):  # the next step of a task reports an unreadable task list
            self.write()

    def close(self) -> None:
        """Drop a delayed write."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
