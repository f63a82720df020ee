"""The command line of `run`: the typed values, and the settings, tasks and agents that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values
    from nexus_mcp.run.config import RunConfig
    from nexus_mcp.run.precheck import Subject
    from nexus_mcp.run.setup import Options
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TypedRun:
    """One command line. `settings` is the whole config.yml, `config` its section `run` with the options applied."""

    values: Values
    workspace: Workspace
    store: Store
    config: RunConfig
    settings: dict[str, Any]
    options: Options
    catalog: Catalog

    def tasks(self) -> dict[str, Any]:
        """Return tasks.json; without one, a list without tasks. Raise StateError, PathRefused, StorageError."""
        return self.store.tasks() or {"goal": "", "decisions": [], "tasks": []}

    def subject(self) -> Subject:
        """Return the subject of the precheck."""
        from nexus_mcp.run.precheck import Subject

        return Subject(self.workspace.root, self.store, self.config, self.catalog, self.tasks(), self.options.tasks)
