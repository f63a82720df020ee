"""The paths under which projects are served: /mcp and /hook, or /p/NAME/mcp and /p/NAME/hook."""

from __future__ import annotations

import re

SINGLE = ""
"""The name of the project of --project: its addresses have no name."""
MCP, HOOK = "/mcp", "/hook"
_PREFIX = "/p/"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def project_in(path: str, ending: str = MCP) -> str | None:
    """Return the name of the project in a path; SINGLE if the path is the ending itself, None for any other path."""
    if path == ending:
        return SINGLE
    if path.startswith(_PREFIX) and path.endswith(ending):
        name = path[len(_PREFIX) : -len(ending)]
        return name if _NAME.fullmatch(name) else None
    return None


def project_of(path: str) -> str | None:
    """Return the name of the project in the path of an MCP request or a hook event."""
    return project_in(path, HOOK if path.endswith(HOOK) else MCP)


def path_of(project: str) -> str:
    """Return the path under which the project with this name is served."""
    return f"{_PREFIX}{project}{MCP}" if project else MCP
