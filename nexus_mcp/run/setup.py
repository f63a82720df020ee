"""Hold what a run works with: project, repository, configuration, log, and the options of the command."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from nexus_mcp.errors import StateError
from nexus_mcp.harness.session_mount import NOTHING, Mount
from nexus_mcp.run import events as ev
from nexus_mcp.run.checks import CheckResult
from nexus_mcp.run.config import RunConfig, Strategy
from nexus_mcp.run.drivers import driver
from nexus_mcp.run.pool import Pool
from nexus_mcp.run.projection import RunRecord, apply, project
from nexus_mcp.run.redaction import Redactor

if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.run.drivers.definition import Driver
    from nexus_mcp.run.run_folder import EventLog
    from nexus_mcp.run.worktrees import Repository
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

CLIENT = "nexus-mcp run"
UNREADABLE_S = 5.0
"""Seconds for which a task list that cannot be read counts as one that is being saved."""
MergeMode = Literal["ask", "auto", "never"]
ChooseModel = Callable[[str, str], str]
"""A function that returns the model for (agent, tier)."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `nexus-mcp run` that are not in the configuration.

    `tasks` is None for all tasks. `base` is the commit to begin at, "" for HEAD. `as_typed` are the options as typed.
    """

    tasks: tuple[int, ...] | None = None
    base: str = ""
    as_typed: Mapping[str, str] = field(default_factory=dict)
    merge: MergeMode = "ask"
    strategy: Strategy | None = None
    is_headless: bool = False
    has_review: bool = True


@dataclass(slots=True)
class Run:
    """One run: what it works with, and its state, which follows from its log alone.

    `listeners` get each event after it is in the log. `models` maps a harness to the function that returns the model of
    (agent, tier). `mount` returns our server and hooks for (harness, folder of generated files, worktree).
    """

    workspace: Workspace
    store: Store
    repository: Repository
    config: RunConfig
    options: Options
    folder: Folder
    log: EventLog
    catalog: Catalog
    models: Mapping[str, ChooseModel] = field(default_factory=dict)
    mount: Callable[[str, str, str], Mount] = lambda *_: NOTHING
    listeners: list[Callable[[ev.AnyEvent], object]] = field(default_factory=list)
    baseline: dict[str, CheckResult] = field(default_factory=dict)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    redactor: Redactor = field(init=False)
    pool: Pool = field(init=False)
    state: RunRecord = field(init=False)
    _known: dict[str, Any] | None = None
    _unreadable_since: float = 0.0

    def __post_init__(self) -> None:
        self.redactor = Redactor(root=self.workspace.root, links=self.config.link)
        self.state = project(self.log.events)
        self.pool = Pool(self.repository)

    def emit(self, event: ev.Event) -> ev.AnyEvent:
        """Add an event to the log, without secrets, and to the state; then pass it to the listeners.

        Raise LogLost if the log cannot be written: then the state has not changed. Raise the errors of listeners.
        """
        made = self.log.append(self.redactor.event(event))
        self.state = apply(self.state, made)
        for listener in self.listeners:
            listener(made)
        return made

    def tasks(self) -> dict[str, Any]:
        """Return tasks.json; a document without tasks if there is none. Raise StateError, PathRefused, StorageError.

        An editor that saves in place leaves half a file for a moment: for UNREADABLE_S seconds return the last list
        that could be read.
        """
        try:
            found = self.store.tasks() or {"goal": "", "decisions": [], "tasks": []}
        except StateError:
            now = time.monotonic()
            self._unreadable_since = self._unreadable_since or now
            if self._known is None or now - self._unreadable_since > UNREADABLE_S:
                raise
            return copy.deepcopy(self._known)
        self._known, self._unreadable_since = copy.deepcopy(found), 0.0
        return found

    def task(self, id_: int) -> dict[str, Any] | None:
        """Return a task of tasks.json, None if it is gone."""
        return next((task for task in self.tasks()["tasks"] if task["id"] == id_), None)

    def driver(self, harness: str) -> Driver:
        """Return the driver of a harness. Raise UsageError for an unknown harness."""
        return driver(harness, self.config)

    def model(self, harness: str, agent: str, tier: str) -> str:
        """Return the model of an agent at a tier; "" where the harness chooses."""
        choose = self.models.get(harness)
        return "" if choose is None else choose(agent, tier)
