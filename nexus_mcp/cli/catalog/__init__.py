"""`nexus-mcp catalog`: list, show and check agents and skills, shipped ones and the project's."""

from __future__ import annotations

from nexus_mcp.cli.options import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Command


def _check() -> Command:
    from nexus_mcp.cli.catalog.check import COMMAND

    return COMMAND


def _manifest() -> Command:
    from nexus_mcp.cli.catalog.manifest import COMMAND

    return COMMAND


def _list() -> Command:
    from nexus_mcp.cli.catalog.list import COMMAND

    return COMMAND


def _show() -> Command:
    from nexus_mcp.cli.catalog.show import COMMAND

    return COMMAND


COMMAND = Group(
    "catalog",
    "show and check the agents and skills",
    "The agents and skills that come with nexus-mcp, with what this project adds or\n"
    "changes in .nexus/agents and .nexus/skills.",
    {"list": _list, "show": _show, "check": _check, "manifest": _manifest},
)
