"""context_compact: the context of the model was compacted, and what it has to know is given back."""

from __future__ import annotations

from nexus_mcp.lifecycle import compaction
from nexus_mcp.lifecycle.definition import Event, EventContext
from nexus_mcp.lifecycle.holding import COMPACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(ctx: EventContext, params: dict[str, Any]) -> dict[str, Any]:
    """Active skill, plan, tasks with the ready set, notes, tracked agents: fresh from disk (docs/lifecycle.md)."""
    compaction.give(ctx, params.get("session_id", ""), by=COMPACTED)
    return {}


EVENT = Event(optional=("session_id",), run=run)
