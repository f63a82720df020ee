"""What a message would do: for each of its tags the skill it starts, the action it stands for, or why it does nothing.

Changes nothing, and fails for nothing that one tag needs and another does not.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.tags.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store

SKILL, ACTION, NOTHING = "skill", "action", "nothing"


def route(text: str, catalog: Catalog, store: Store, harness_id: str = "") -> dict[str, Any]:
    """{"tags": […], "left_out": tags beyond MOST}, of the shape schemas/catalog/route.schema.json."""
    message = Message(text, catalog.vocabulary["tags"])
    return {"tags": routed(message, message.tags, catalog, store, harness_id), "left_out": message.left_out}


def routed(
    message: Message, tags: list[dict[str, Any]], catalog: Catalog, store: Store, harness_id: str
) -> list[dict[str, Any]]:
    """These `tags` of a message, each with what it would do.

    A tag has its place in the message, an `outcome` (SKILL, ACTION, NOTHING) and `advice`: what to do first, or
    instead; "" for nothing to say. Of a skill: `skill`, `mode` (the variant), `body` with its placeholders,
    `harness_notes`. Of an action: `action`, `would`, what it would come to.
    """
    if not tags:
        return []
    from nexus_mcp.tags.outcomes import Outcomes

    outcomes = Outcomes(catalog, store, harness_id)
    return [{**tag, **_whole(message, tag, _outcome(outcomes, tag))} for tag in tags]


def _whole(message: Message, tag: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a text that would be kept, with what would not be kept of it."""
    if "path" not in found.get("would", ()):
        return found
    return {**found, "advice": " ".join(filter(None, [found["advice"], message.cut(tag)]))}


def _outcome(outcomes: Any, tag: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = outcomes.of(tag)
    except NexusError as error:
        from nexus_mcp.tags.actions.definition import told

        return {"outcome": NOTHING, "advice": told(error)}
    return found
