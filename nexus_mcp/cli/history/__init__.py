"""`nexus-mcp history`: repair history.json, and merge two versions of it."""

from __future__ import annotations

from nexus_mcp.cli.options import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Command


def _repair() -> Command:
    from nexus_mcp.cli.history.repair import COMMAND

    return COMMAND


def _merge() -> Command:
    from nexus_mcp.cli.history.merge import COMMAND

    return COMMAND


COMMAND = Group(
    "history",
    "mend history.json after a merge or a crash, or merge it",
    "history.json when git left conflict markers in it, when something cut it off,\n"
    "and when git asks how to merge it. Cycles are taken whole; none is changed.",
    {"repair": _repair, "merge": _merge},
)
