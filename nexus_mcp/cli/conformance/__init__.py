"""The commands of `nexus-mcp conformance`: judge, compare and write servers, and explain and check fixtures."""

from __future__ import annotations

from nexus_mcp.cli.conformance import compare, explain, fixtures, new, run
from nexus_mcp.cli.options import Group

COMMAND = Group(
    "conformance",
    "judge any Nexus server by the conformance suite",
    "Sends the requests of the fixtures to a server, and reports where its responses\n"
    "and files differ from the expected ones.",
    {
        "run": lambda: run.COMMAND,
        "compare": lambda: compare.COMMAND,
        "new": lambda: new.COMMAND,
        "explain": lambda: explain.COMMAND,
        "coverage": lambda: fixtures.COVERAGE,
        "lint": lambda: fixtures.LINT,
    },
)
