"""Open runs to read them: header, log, the state that follows from it, and whether an executor is at work now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.events import AnyEvent
from nexus_mcp.run.projection import RunRecord, project
from nexus_mcp.run.run_folder import HEADER, read_json, read_log, run_folder
from nexus_mcp.run.status import Status, StatusFile, status_file
from nexus_mcp.state import times
from nexus_mcp.store.run_files import Holder, holder, is_run_id, run_ids

if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store

NO_RUN = "This project has no run yet."


@dataclass(frozen=True, slots=True)
class View:
    """A run as it is now. `holder` is the executor that works on it, None if there is none; `torn` counts lines of the
    log that are no events.
    """

    id: str
    header: dict[str, Any]
    events: tuple[AnyEvent, ...]
    state: RunRecord
    folder: Folder
    holder: Holder | None
    torn: int = 0

    @property
    def is_crashed(self) -> bool:
        """Return whether the executor died: the log has no end, and no executor works on the run."""
        return bool(self.events) and self.state.ended is None and self.holder is None

    @property
    def config(self) -> RunConfig:
        """Return the configuration that the run began with; the defaults if it cannot be read."""
        try:
            return RunConfig.model_validate(self.header.get("config", {}))
        except ValueError:
            return RunConfig()

    def status(self, tasks: dict[str, Any] | None) -> StatusFile:
        """Return the content of the status file at this moment. `tasks` is tasks.json; if it is None or has no tasks,
        use the task list in the header.
        """
        document = tasks if tasks is not None and tasks.get("tasks") else self.header.get("tasks") or {}
        chosen = (self.header.get("options") or {}).get("tasks")
        rows = [task for task in document.get("tasks", []) if chosen is None or task["id"] in chosen]
        status: Status | None = "crashed" if self.is_crashed else None
        feature = str(document.get("goal", ""))
        return status_file(self.state, rows, self.config, times.stamp(time.time()), feature=feature, status=status)


@contextmanager
def open_view(store: Store, run: str = "") -> Iterator[View]:
    """Open a run; without a name, the newest one. Raise UsageError for an unknown name, NexusError if the project has
    no run, StateError, StorageError, PathRefused.
    """
    with store.state() as state:
        ids = [] if state is None else run_ids(state)
        if state is None or not ids:
            raise NexusError(NO_RUN, next_step="nexus-mcp run begins one.")
        name = run or ids[-1]
        if name not in ids:
            known = f"The newest one is {ids[-1]}; nexus-mcp run list shows all."
            raise UsageError(f"There is no run {name!r}.", next_step=known)
        with run_folder(state, name) as folder:
            assert folder is not None
            yield _view(state, name, folder)


def all_views(state: Folder) -> Iterator[View]:
    """Yield each run of the project, oldest first. Raise StateError, StorageError, PathRefused."""
    for name in run_ids(state):
        with run_folder(state, name) as folder:
            if folder is not None and is_run_id(name):
                yield _view(state, name, folder)


def _view(state: Folder, name: str, folder: Folder) -> View:
    at_work = holder(state)
    events, torn = read_log(folder)
    header = read_json(folder, HEADER)
    is_ours = at_work is not None and at_work.run in (name, "")
    return View(
        name,
        header if isinstance(header, dict) else {},
        tuple(events),
        project(events),
        folder,
        at_work if is_ours else None,
        torn,
    )
