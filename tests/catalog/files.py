"""A small catalog on disk, and the faults of a changed copy."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from nexus_mcp.catalog.building import own_value, shipped_value
from nexus_mcp.catalog.sources import Own, ShippedFiles, read_shipped
from nexus_mcp.errors import CatalogError
from nexus_mcp.packaged import data_path
from nexus_mcp.store.folder import Folder

AGENT = """\
id: {id}
name: Name
description: When to choose it.
category: do
resume_tier: bounded
model_tier: standard
capabilities: [no_task_create]
"""
SKILL = """\
id: {id}
name: Name
description: When to choose it.
manual_only: false
harness_notes: []
"""


def assets(folder: Path, changes: Mapping[str, str | bytes | None]) -> Path:
    """Return a copy of the shipped files, some of them rewritten, or removed for None."""
    root = folder / "assets"
    shutil.copytree(data_path("assets"), root)
    put(root, changes)
    return root


def put(root: Path, changes: Mapping[str, str | bytes | None]) -> None:
    for name, content in changes.items():
        path = root / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def shipped_faults(root: Path) -> list[str]:
    """Return the faults of a folder of assets; [] for a usable one."""
    try:
        shipped_value(ShippedFiles(str(root)))
    except CatalogError as error:
        return error.faults
    return []


def own_faults(project: Path) -> list[str]:
    """Return the faults of a project's own entries."""
    try:
        with Folder.root(str(project)) as root, root.make(".nexus")[0] as nexus:
            own_value(Own(nexus), read_shipped())
    except CatalogError as error:
        return error.faults
    return []
