"""The harnesses that `nexus-mcp install` knows, one module each, loaded on demand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.harness.definition import Harness

HARNESSES = {"claude-code": "claude_code", "codex": "codex", "opencode": "opencode"}
"""Harness id → module in this folder with the constant HARNESS."""


def load(name: str) -> Harness:
    """Return the harness with the id `name`, a key of HARNESSES."""
    module = __import__(f"nexus_mcp.harness.{HARNESSES[name]}", fromlist=("HARNESS",))
    harness: Harness = module.HARNESS
    return harness
