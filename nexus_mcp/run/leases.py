"""Show in tasks.extension.json which tasks a run works on, and how far they are, for other sessions and people."""

from __future__ import annotations

from typing import Any

from nexus_mcp.run import events as ev
from nexus_mcp.run.setup import Run
from nexus_mcp.store import tasks_extension
from nexus_mcp.store.folder import Folder

_BEGINS = (ev.AttemptPlanned, ev.WorktreeMade)
_CHANGES = (*_BEGINS, ev.Judged, ev.TaskDone, ev.TaskFailed, ev.TaskPaused, ev.TaskBlocked, ev.TaskSkipped)
_ENDS = (ev.TaskDone, ev.TaskFailed, ev.TaskPaused, ev.TaskBlocked, ev.TaskSkipped)


class Leases:
    """The leases of a run, as a listener of its events."""

    def __init__(self, state: Folder, run: Run) -> None:
        self._state = state
        self._run = run

    def begin(self) -> None:
        """Free all leases: this executor holds the lock, so the others are dead. Raise StateError, StorageError."""
        tasks_extension.free(self._state)

    def take(self, event: ev.AnyEvent) -> None:
        """Update the lease that the event changes. Raise StateError, StorageError."""
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
        tasks_extension.put(self._state, {event.task: fields})

    def files(self) -> dict[int, list[str]]:
        """Return the paths that a person added to tasks. Raise StateError, StorageError."""
        found = tasks_extension.read(self._state)
        return {id_: [str(one) for one in entry.get("files", ())] for id_, entry in found.items() if _has_list(entry)}


def _has_list(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("files"), list)
