"""What the resources that are answers of tools have in common."""

from __future__ import annotations

import os

from nexus_mcp.server.resources.files import info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.resources.definition import Look


def modified(look: Look, path: str) -> float | None:
    """When the file at a path from .nexus was last changed; None when there is none."""
    seen = info(os.path.join(look.workspace.root, ".nexus"), path)
    return None if seen is None else seen.st_mtime
