"""The text of a skill for a model that is to work by it: fresh from disk, in the words of the harness."""

from __future__ import annotations

from nexus_mcp.catalog.placeholders import command, resolved
from nexus_mcp.catalog.tool_names import ANY, called
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quoted_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext


def active(ctx: EventContext, catalog: Catalog, skill: str, mode: str) -> str:
    """What is said of a skill that goes on; "" and a warning when its text is not to be had."""
    from nexus_mcp.tags.skills import harness_notes

    try:
        entry, body = catalog.skill(skill), catalog.body("skills", skill)
    except NexusError as error:
        ctx.warn(f"The text of the skill {quoted_name(skill)} is not to be had: {error}")
        return ""
    modes = {
        name for tag in catalog.vocabulary["tags"].values() if tag.get("skill") == skill for name in tag["variants"]
    }
    routed = {
        "skill": skill,
        "mode": mode if mode in modes else "",  # it comes from a file, and what follows is an instruction
        "body": body,
        "harness_notes": harness_notes(entry, ctx.harness_id),
    }
    return text(catalog, ctx.harness_id, routed)


def text(catalog: Catalog, harness_id: str, routed: Mapping[str, str]) -> str:
    """A skill with its mode, its body with the placeholders resolved, and what the harness adds.

    `routed` has skill, mode, body and harness_notes, as the outcome of a tag has them (tags/route.py).
    """
    mode = f", mode {routed['mode']}" if routed["mode"] else ""
    head = f"The skill {routed['skill']} is active{mode}. Work by its text:"
    parts = (head, _worded(catalog, harness_id, routed["body"]), routed["harness_notes"])
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _worded(catalog: Catalog, harness_id: str, body: str) -> str:
    known, invocations = catalog.maps.get(harness_id), catalog.vocabulary["invocations"]
    naming = ANY if known is None else known["nexus_tools"]
    return resolved(
        body,
        {
            "tool": lambda name: f"`{called(naming, name)}`",
            "agent": str,
            "skill": str,
            "command": lambda name: command(name, harness_id),
            "action": lambda name: str(invocations[name]["say"]) if name in invocations else name,
        },
    )
