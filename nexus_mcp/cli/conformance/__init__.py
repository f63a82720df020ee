"""`nexus-mcp conformance`: judges a server, and the fixtures it is judged by."""

from __future__ import annotations

from nexus_mcp.cli.options import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Command


def _run() -> Command:
    from nexus_mcp.cli.conformance.run import COMMAND

    return COMMAND


def _compare() -> Command:
    from nexus_mcp.cli.conformance.compare import COMMAND

    return COMMAND


def _coverage() -> Command:
    from nexus_mcp.cli.conformance.coverage import COMMAND

    return COMMAND


def _lint() -> Command:
    from nexus_mcp.cli.conformance.lint import COMMAND

    return COMMAND


COMMAND = Group(
    "conformance",
    "judge any Nexus server by the conformance suite",
    "Asks a server what the fixtures say, and tells where its answers and the\n"
    "files that it leaves are not what they must be.",
    {"run": _run, "compare": _compare, "coverage": _coverage, "lint": _lint},
)
