"""The paths under which projects are served: /mcp, or /p/NAME/mcp."""

from __future__ import annotations

import re

SINGLE = ""
"""The name of the project of --project, which has no name in addresses."""
MCP = "/mcp"
_PREFIX = "/p/"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def project_in(path: str) -> str | None:
    """Return the name of the project in a path, SINGLE for /mcp, None for any other path."""
    if path == MCP:
        return SINGLE
    if path.startswith(_PREFIX) and path.endswith(MCP):
        name = path[len(_PREFIX) : -len(MCP)]
        return name if _NAME.fullmatch(name) else None
    return None


def path_of(project: str) -> str:
    """Return the path under which the project with this name is served."""
    return f"{_PREFIX}{project}{MCP}" if project else MCP
