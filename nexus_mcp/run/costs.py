"""Show the cost of a run as text. An unknown cost is never shown as 0."""

from __future__ import annotations

from nexus_mcp.run.projection import RunRecord

UNKNOWN = "unknown cost"


def cost_text(state: RunRecord) -> str:
    """Return the text of the cost so far. If the cost of a session is missing, the sum is a lower bound."""
    if state.is_cost_known and not state.unpriced:
        return f"{state.cost_usd:.2f} USD"
    return f"at least {state.cost_usd:.2f} USD" if state.cost_usd else UNKNOWN
