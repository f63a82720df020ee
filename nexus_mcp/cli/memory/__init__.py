"""`nexus-mcp memory`: the notes in .nexus/memory/."""

from __future__ import annotations

from nexus_mcp.cli.options import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Command


def _gc() -> Command:
    from nexus_mcp.cli.memory.gc import COMMAND

    return COMMAND


COMMAND = Group(
    "memory",
    "clean up the notes in .nexus/memory/",
    "The notes in .nexus/memory/. nexus-mcp act '[m] text' keeps a new one.",
    {"gc": _gc},
)
