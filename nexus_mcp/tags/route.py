"""What a message would do: for each of its tags the skill it starts, the action it stands for, or why it does nothing.

Changes nothing, and fails for nothing that one tag needs and another does not.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.tags.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store

SKILL, ACTION, NOTHING = "skill", "action", "nothing"
MOST = 20
"""Tags of one message that are looked at. Nobody types more; what has more was pasted."""


def route(message: str, catalog: Catalog, store: Store, harness_id: str = "") -> dict[str, Any]:
    """{"tags": […], "left_out": tags beyond MOST}, of the shape schemas/catalog/route.schema.json.

    A tag has its place in the message, an `outcome` (SKILL, ACTION, NOTHING) and `advice`: what to do first, or
    instead; "" for nothing to say. Of a skill: `skill`, `mode` (the variant), `body` with its placeholders,
    `harness_notes`. Of an action: `action`, `would`, what it would come to.
    """
    tags = parse(message, catalog.vocabulary["tags"])
    if not tags:
        return {"tags": [], "left_out": 0}
    from nexus_mcp.tags.outcomes import Outcomes

    outcomes = Outcomes(catalog, store, harness_id)
    routed = [
        {**tag, **_whole(message, tag, following, _outcome(outcomes, tag))}
        for tag, following in zip(tags[:MOST], [*tags[1:], None], strict=False)
    ]
    return {"tags": routed, "left_out": len(tags) - len(routed)}


def _whole(
    message: str, tag: dict[str, Any], following: dict[str, Any] | None, found: dict[str, Any]
) -> dict[str, Any]:
    """The outcome of a text that would be kept, with what would not be kept of it."""
    if "path" not in found.get("would", ()):
        return found
    from nexus_mcp.tags import cut

    advice = [found["advice"], cut.told(message, tag, following)]
    return {**found, "advice": " ".join(filter(None, advice))}


def _outcome(outcomes: Any, tag: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = outcomes.of(tag)
    except NexusError as error:
        from nexus_mcp.tags.actions.definition import told

        return {"outcome": NOTHING, "advice": told(error)}
    return found
