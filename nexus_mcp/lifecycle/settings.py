"""Read the settings of `.nexus/config.yml` that events follow. They are read only when an event needs one.

A faulty file never relaxes a rule: the edit gate and the file leases then block, with a warning.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.lifecycle.host import BLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

_STRICT = {"gates": {"edit": BLOCK, "file_leases": "block"}}


def settings_of(ctx: EventContext) -> dict[str, Any]:
    """Return the settings, {} without a file; if the file cannot be used, warn and return the strictest gates."""
    if ctx.settings is None:
        from nexus_mcp.tags.config import read

        try:
            with ctx.store.nexus() as nexus:
                ctx.settings = read(nexus)
        except NexusError as error:
            ctx.warn(f"The settings of this project cannot be read, so the strictest settings apply: {error}")
            ctx.settings = _STRICT
    return ctx.settings


def gate_of(ctx: EventContext) -> str:
    """Return the edit gate: the project's, else that of the harness's installation."""
    gate: str = settings_of(ctx).get("gates", {}).get("edit", ctx.host.gate)
    return gate


def limit_of(ctx: EventContext) -> int:
    """Return the maximum number of characters of a context; 0 means no maximum.

    If the host has a maximum, the project's setting for this harness replaces it. Without a context the setting is not
    read.
    """
    if not (ctx.host.limit and ctx.context):
        return ctx.host.limit
    limit: int = settings_of(ctx).get("context_limit", {}).get(ctx.harness_id, ctx.host.limit)
    return limit
