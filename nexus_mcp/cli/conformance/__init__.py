"""The commands of `nexus-mcp conformance`: judge a server, and check the fixtures."""

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
    "Sends the requests of the fixtures to a server, and reports where its\n"
    "answers and its files differ from what they must be.",
    {"run": _run, "compare": _compare, "coverage": _coverage, "lint": _lint},
)
