"""Read the files of a board's projects in threads: one call at a time for each project, except `Project.warm_up`."""

from __future__ import annotations

import os
import shlex
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.errors import JournalError, NexusError
from nexus_mcp.store import journal, read_only
from nexus_mcp.store.poller import EACH, FILES, mark
from nexus_mcp.store.read_only import ReadOnlyStore
from nexus_mcp.store.run_files import RUNS, STATUS
from nexus_mcp.views.ledger import Ledger
from nexus_mcp.views.status import status
from nexus_mcp.web.projects_file import plain_name
from nexus_mcp.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from nexus_mcp.store.poller import Mark
    from nexus_mcp.views.status import Status

    Found = TypeVar("Found")

_CHANGE_S = 1.0
"""Seconds to wait for an unfinished change of several files before it counts as interrupted."""
_PAUSE_S = 0.02
_MOST_NAMED = 3
"""The maximum number of projects that a command names."""


class Project:
    """One project. `key` names it in addresses, `name` on pages. Every method may be called from any thread."""

    def __init__(self, key: str, workspace: Workspace, cache: str) -> None:
        self.key = key
        self.workspace = workspace
        self.name = os.path.basename(workspace.root) or workspace.root
        self._store = ReadOnlyStore(workspace, cache)
        self._ledger = Ledger()
        self._lock = threading.Lock()
        self._cache = cache
        self._journal = f"{workspace.state_root}/.nexus/state/{journal.NAME}"
        self._interrupted: Mark = None
        """The mark of a journal for which a page waited without success: no page waits for that journal again."""

    @property
    def root(self) -> str:
        return self.workspace.root

    def is_there(self) -> bool:
        """Return whether the folder of the project exists."""
        return os.path.isdir(self.root)

    def read(self, make: Callable[[ReadOnlyStore, Ledger], Found]) -> Found:
        """Return the result of `make`. Raise what `make` raises, but JournalError only for a change that stays
        unfinished.
        """
        with self._lock:
            end = time.monotonic() + _CHANGE_S
            while True:
                try:
                    return make(self._store, self._ledger)
                except JournalError:
                    if self._is_interrupted(end):
                        raise
                time.sleep(_PAUSE_S)

    def status(self) -> Status:
        """Return the status. Wait for a change that another process is making."""
        end = time.monotonic() + _CHANGE_S
        while True:
            with self._lock:
                found = status(self._store, self.workspace)
            waits = any(read_only.WAITING in fault["problem"] for fault in found["faults"])
            if not waits or self._is_interrupted(end):
                return found
            time.sleep(_PAUSE_S)

    def _is_interrupted(self, end: float) -> bool:
        """Return whether the change in the journal counts as interrupted, so that no page waits for it."""
        now = mark("/", self._journal)
        if now is not None and now == self._interrupted:
            return True
        if time.monotonic() <= end:
            return False
        self._interrupted = now
        return True

    def index(self) -> None:
        """Build the index of the history in advance, so that no page waits for it. Never raises NexusError: pages
        report the error.
        """
        with suppress(NexusError):
            self.read(lambda store, _: store.history(len))

    def warm_up(self) -> None:
        """Prepare filters, charts and search of a long history, while pages are shown. Never raises NexusError."""
        store, ledger = ReadOnlyStore(self.workspace, self._cache), Ledger()
        with suppress(NexusError):
            store.history(ledger.update)
            with self._lock:
                self._ledger = ledger
            store.history(lambda archive: archive.matches("x"))  # this puts the texts into the cache

    def paths(self) -> list[str]:
        """Return the paths to poll for changes (store/poller.py)."""
        own = [f"{self.root}/.nexus/{name}/" for name in ("context", "memory", "rules")]
        shared = f"{self.workspace.state_root}/.nexus/"
        state = f"{shared}state/"
        runs = f"{state}{RUNS}/{STATUS}{EACH}"
        return [f"{self.root}/.nexus/", *own, shared, state, f"{state}artifacts{FILES}", runs]


def open_projects(workspaces: Iterable[Workspace], cache: str) -> list[Project]:
    """Return the projects, each once, with different keys. `cache` is a folder for derived data."""
    found: dict[str, Project] = {}
    keys: set[str] = set()
    for workspace in workspaces:
        if workspace.root in found:
            continue
        key = plain = plain_name(workspace.root)
        number = 1
        while key in keys:
            number += 1
            key = f"{plain}-{number}"
        keys.add(key)
        place = os.path.join(cache, key)
        os.mkdir(place, 0o700)
        found[workspace.root] = Project(key, workspace, place)
    return list(found.values())


def start_command(projects: Sequence[Project]) -> str:
    """Return the command that shows these projects again; with more than _MOST_NAMED of them it has no paths."""
    if len(projects) > _MOST_NAMED:
        return "nexus-mcp board"
    return shlex.join(["nexus-mcp", "board", *(project.root for project in projects)])
