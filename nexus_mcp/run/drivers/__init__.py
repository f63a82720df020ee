"""The drivers of a run: the table DRIVERS, the entry points of other packages, and the templates of a config."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from nexus_mcp.errors import UsageError

if TYPE_CHECKING:
    from nexus_mcp.run.config import RunConfig
    from nexus_mcp.run.drivers.definition import Driver

DRIVERS = {"claude-code": "claude_code", "codex": "codex", "opencode": "opencode"}
"""Id of a harness -> its module in this folder."""
GROUP = "nexus_mcp.drivers"
"""The entry point group in which other packages name their drivers."""


def driver(name: str, config: RunConfig) -> Driver:
    """Return the driver of a harness: a template of the config wins over ours, and ours over that of another package.

    Raise UsageError for an unknown harness.
    """
    if name in config.drivers:
        from nexus_mcp.run.drivers.template import TemplateDriver

        return TemplateDriver(name, config.drivers[name])
    if name in DRIVERS:
        found: Driver = import_module(f"nexus_mcp.run.drivers.{DRIVERS[name]}").DRIVER
        return found
    for point in entry_points(group=GROUP, name=name):
        loaded: Driver = point.load()
        return loaded
    known = ", ".join(sorted({*DRIVERS, *config.drivers}))
    raise UsageError(f"There is no driver for the harness {name!r}.", next_step=f"Known: {known}; see run.drivers.")
