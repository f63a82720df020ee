"""Carries out the inline actions of a message: [m], [m:gc] and [rule:…] do their file work; [d] is for the agent."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.tags.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store

FOR_THE_AGENT, FAILED = "for_the_agent", "failed"
_DECIDE = "Call plan_decide for the question that it decides, with the text behind the tag."


def act(message: str, catalog: Catalog, store: Store) -> dict[str, Any]:
    """{"steps": […], "left_out": tags beyond those looked at}, of the shape schemas/catalog/act.schema.json.

    A step for each tag that is an action, in order; tags that start a skill are none. One that cannot be done has
    FAILED, with the reason as `next_step`; the others are done all the same.
    """
    table = catalog.vocabulary["tags"]
    tags = parse(message, table)
    if not tags:
        return {"steps": [], "left_out": 0}
    from nexus_mcp.tags.route import MOST, SKILL

    steps = [
        _whole(message, tag, following, _step(tag, catalog, store))
        for tag, following in zip(tags[:MOST], [*tags[1:], None], strict=False)
        if table[tag["tag"]]["kind"] != SKILL
    ]
    return {"steps": steps, "left_out": max(0, len(tags) - MOST)}


def _whole(message: str, tag: dict[str, Any], following: dict[str, Any] | None, step: dict[str, Any]) -> dict[str, Any]:
    """The step of a text that is kept, with what is not kept of it."""
    if "path" not in step:
        return step
    from nexus_mcp.tags import cut

    advice = [step["next_step"], cut.told(message, tag, following)]
    return {**step, "next_step": " ".join(filter(None, advice))}


def _step(tag: dict[str, Any], catalog: Catalog, store: Store) -> dict[str, Any]:
    from nexus_mcp.tags.actions import ACTIONS
    from nexus_mcp.tags.actions.definition import Desk, told
    from nexus_mcp.tags.outcomes import PLAN_DECIDE, variant_of

    spec, unknown = variant_of(catalog.vocabulary["tags"][tag["tag"]], tag)
    step = {member: tag[member] for member in ("tag", "variant", "start", "end")} | {"action": spec["action"]}
    if unknown:
        return {**step, "result": FAILED, "next_step": unknown}
    if spec["action"] == PLAN_DECIDE:
        return {**step, "result": FOR_THE_AGENT, "next_step": _DECIDE}
    try:
        return {**step, **ACTIONS[spec["action"]]().run(Desk(catalog, store), tag["variant"], tag["text"])}
    except NexusError as error:
        return {**step, "result": FAILED, "next_step": told(error)}
