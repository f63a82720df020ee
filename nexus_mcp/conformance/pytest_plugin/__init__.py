"""The suite as tests of another project: `pytest --nexus-server "CMD"` has one test for each fixture.

Every run of pytest beside an installed nexus-mcp loads this module, so it imports nothing before it is asked to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

# Option, metavar (several times: with "…"), help.
OPTIONS = (
    ("--nexus-server", "CMD", "run the conformance suite against this command, an MCP server on stdio"),
    ("--nexus-tool-prefix", "PREFIX", "the target's tool names are those of the suite with this before them"),
    ("--nexus-tool-map", "FILE", "YAML: tool of the suite -> the target's name for it"),
    ("--nexus-env", "KEY=VALUE…", "a variable for the target; may be given several times"),
    ("--nexus-project-env", "NAME", "the variable that tells the target where the project is"),
    ("--nexus-harness-id", "ID", "the harness id whose state folder the target uses"),
    ("--nexus-event-command", "CMD", "the command that takes lifecycle events, {type} in it is the event's type"),
    ("--nexus-timeout", "SECONDS", "the time limit of one call"),
    ("--nexus-start-timeout", "SECONDS", "the time limit of a start of the target"),
    ("--nexus-fixtures", "PATH…", "fixtures in place of the packaged ones; may be given several times"),
    ("--nexus-expected-failures", "FILE", "YAML: test_id -> the reason why it fails"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nexus", "conformance of a Nexus server")
    for name, metavar, help_ in OPTIONS:
        many = metavar.endswith("…")
        group.addoption(
            name,
            metavar=metavar.rstrip("…"),
            help=help_,
            action="append" if many else "store",
            default=[] if many else None,
        )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nexus: a fixture of the Nexus conformance suite")
    if config.getoption("--nexus-server") is not None:
        from nexus_mcp.conformance.pytest_plugin.items import Suite

        config.pluginmanager.register(Suite(config), "nexus-suite")
