"""Show in tasks.extension.json which tasks a run works on, and how far they are, for other sessions and people."""

from __future__ import annotations

import asyncio
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.run import events as ev
from nexus_mcp.run.setup import Run
from nexus_mcp.store import tasks_extension
from nexus_mcp.store.folder import Folder

_BEGINS = (ev.AttemptPlanned, ev.WorktreeMade)
_CHANGES = (*_BEGINS, ev.Judged, ev.TaskDone, ev.TaskFailed, ev.TaskPaused, ev.TaskBlocked, ev.TaskSkipped)
_ENDS = (ev.TaskDone, ev.TaskFailed, ev.TaskPaused, ev.TaskBlocked, ev.TaskSkipped)


_WAIT_S = 0.25


class Leases:
    """The leases of a run, as a listener of its events. Changes within _WAIT_S seconds are written together: the file
    is only for readers, and the log has the same facts.
    """

    def __init__(self, state: Folder, run: Run) -> None:
        self._state = state
        self._run = run
        self._waiting: dict[int, dict[str, Any]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._fault: NexusError | None = None

    def begin(self) -> None:
        """Free all leases: no other executor lives, because this one has the lock.

        Raise StateError, PathRefused, StorageError.
        """
        tasks_extension.free(self._state)

    def take(self, event: ev.AnyEvent) -> None:
        """Write the change of the event within _WAIT_S seconds, and at once for a new worktree.

        Raise the StateError, PathRefused or StorageError of the write, if it is at once, or of an earlier write.
        """
        if self._fault is not None:
            raise self._fault
        if not isinstance(event, _CHANGES) or event.task is None:
            return
        record = self._run.state.task(event.task)
        fields: dict[str, Any] = {"run_state": record.state, "reason": record.reason[:500] or None}
        if record.last is not None:
            fields |= {"strategy": record.last.attempt.strategy, "tier": record.last.attempt.tier}
        if isinstance(event, _ENDS):
            fields[tasks_extension.LEASE] = None
        elif isinstance(event, _BEGINS) and record.last is not None:
            number, fence = record.last.attempt.number, record.last.fence
            fields[tasks_extension.LEASE] = {"run": self._run.state.run, "attempt": number, "fence": fence}
        self._waiting[event.task] = {**self._waiting.get(event.task, {}), **fields}
        if isinstance(event, ev.WorktreeMade):  # from now on others have to see the lease, whatever happens
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_WAIT_S, self._write_later)

    def write(self) -> None:
        """Write the waiting changes now. Raise StateError, PathRefused, StorageError."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        changes, self._waiting = self._waiting, {}
        if changes:
            tasks_extension.put(self._state, changes)

    def _write_later(self) -> None:
        try:
            self.write()
        except NexusError as error:
            self._fault = error

    def files(self) -> dict[int, list[str]]:
        """Return task id -> the paths that a person added to the task in the file.

        Raise StateError, PathRefused, StorageError.
        """
        found = tasks_extension.read(self._state)
        return {id_: [str(one) for one in entry.get("files", ())] for id_, entry in found.items() if _has_list(entry)}


def _has_list(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("files"), list)
