"""Carries out the inline actions of a message: [m], [m:gc] and [rule:…] do their file work; [d] is for the agent."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.tags.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store
    from nexus_mcp.tags.actions.definition import Desk

FOR_THE_AGENT, FAILED = "for_the_agent", "failed"
_DECIDE = "Call plan_decide for the question that it decides, with the text behind the tag."


def act(text: str, catalog: Catalog, store: Store) -> dict[str, Any]:
    """{"steps": […], "left_out": tags beyond those looked at}, of the shape schemas/catalog/act.schema.json.

    A step for each tag that is an action, in order; tags that start a skill are none. One that cannot be done has
    FAILED, with the reason as `next_step`; the others are done all the same.
    """
    message = Message(text, catalog.vocabulary["tags"])
    return {"steps": steps(message, catalog, store), "left_out": message.left_out}


def steps(message: Message, catalog: Catalog, store: Store) -> list[dict[str, Any]]:
    """The steps for the tags of a message."""
    if not message.tags:
        return []
    from nexus_mcp.tags.actions.definition import Desk
    from nexus_mcp.tags.route import SKILL

    desk, table = Desk(catalog, store), catalog.vocabulary["tags"]
    return [_whole(message, tag, _step(tag, desk)) for tag in message.tags if table[tag["tag"]]["kind"] != SKILL]


def _whole(message: Message, tag: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """The step of a text that is kept, with what is not kept of it."""
    if "path" not in step:
        return step
    return {**step, "next_step": " ".join(filter(None, [step["next_step"], message.cut(tag)]))}


def _step(tag: dict[str, Any], desk: Desk) -> dict[str, Any]:
    from nexus_mcp.tags.actions import ACTIONS
    from nexus_mcp.tags.actions.definition import told
    from nexus_mcp.tags.outcomes import PLAN_DECIDE, variant_of

    spec, unknown = variant_of(desk.catalog.vocabulary["tags"][tag["tag"]], tag)
    step = {member: tag[member] for member in ("tag", "variant", "start", "end")} | {"action": spec["action"]}
    if unknown:
        return {**step, "result": FAILED, "next_step": unknown}
    if spec["action"] == PLAN_DECIDE:
        return {**step, "result": FOR_THE_AGENT, "next_step": _DECIDE}
    try:
        return {**step, **ACTIONS[spec["action"]]().run(desk, tag["variant"], tag["text"])}
    except NexusError as error:
        return {**step, "result": FAILED, "next_step": told(error)}
