"""context_compact: give a model its working context again after a compaction."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.session_context import give
from nexus_mcp.lifecycle.session_memory import COMPACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Give the active skill, plan, tasks and which are ready, notes and agents, fresh from disk (docs/lifecycle.md)."""
    give(ctx, params.get("session_id", ""), by=COMPACTED)
    return {}


EVENT = Event(optional=("session_id",), run=run)
