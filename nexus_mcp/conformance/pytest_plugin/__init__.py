"""Run the suite as tests of another project: `pytest --nexus-server "CMD"` has one test for each fixture.

Every pytest run in an environment with nexus-mcp loads this module, so it imports the suite only for --nexus-server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.pytest_plugin.options import OPTIONS

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nexus", "conformance of a Nexus server")
    for name, metavar, help_ in OPTIONS:
        if not metavar:
            group.addoption(name, help=help_, action="store_true")
            continue
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
