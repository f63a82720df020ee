"""`nexus-mcp capabilities`: show, check and change the restrictions of agents and the tools they cover."""

from __future__ import annotations

from nexus_mcp.cli.options import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Command


def _show() -> Command:
    from nexus_mcp.cli.capabilities.show import COMMAND

    return COMMAND


def _check() -> Command:
    from nexus_mcp.cli.capabilities.check import COMMAND

    return COMMAND


def _add() -> Command:
    from nexus_mcp.cli.capabilities.changing import ADD

    return ADD


def _remove() -> Command:
    from nexus_mcp.cli.capabilities.changing import REMOVE

    return REMOVE


COMMAND = Group(
    "capabilities",
    "show, check and change what agents may not do",
    "What each agent may not do, and which tools of a harness that takes away, by\n"
    "what is shipped and by .nexus/agents and .nexus/capability-map.yml.",
    {"show": _show, "check": _check, "add": _add, "remove": _remove},
)
