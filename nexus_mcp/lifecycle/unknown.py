"""What is said of an agent that the tracker does not have."""

from __future__ import annotations

from nexus_mcp.quoting import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.lifecycle.definition import EventContext

_LONGEST = 256


def warn_unknown(ctx: EventContext, agent_id: str) -> None:
    """Warn that nothing was recorded, and say what would have been needed."""
    ctx.warn(
        f"No agent {quoted(agent_id, _LONGEST)} is in the tracker of {ctx.harness_id}, so nothing was recorded. "
        "Tell of an agent with agent_spawn when it begins."
    )
