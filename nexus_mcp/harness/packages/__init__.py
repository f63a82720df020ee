"""The packages that `nexus-mcp package` makes, one module each, loaded on demand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.harness.packages.definition import Package

PACKAGES = {"claude": "claude_plugin", "codex": "codex_plugin", "mcpb": "mcpb_bundle"}
"""Package id → module in this folder with the constant PACKAGE."""


def load(name: str) -> Package:
    """Return the package with the id `name`, a key of PACKAGES."""
    module = __import__(f"nexus_mcp.harness.packages.{PACKAGES[name]}", fromlist=("PACKAGE",))
    package: Package = module.PACKAGE
    return package
