"""Helpers of the tests of notes."""

from __future__ import annotations

from typing import Any

from nexus_mcp.knowledge import index
from nexus_mcp.store.folder import Folder
from tests.support import Project


def indexed(project: Project, faults: list[str] | None = None) -> list[dict[str, Any]]:
    """The index of the project's notes."""
    with Folder.root(str(project.root)) as root:
        nexus = root.child(".nexus")
        if nexus is None:
            return index.index(None, faults)
        with nexus:
            return index.index(nexus, faults)
