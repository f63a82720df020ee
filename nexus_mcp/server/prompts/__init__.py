"""The table of prompts: one for each skill and one for each tag."""

from __future__ import annotations

from nexus_mcp.server.prompts import actions, skills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.prompts.definition import Prompt
    from nexus_mcp.server.resources.definition import ReadContext


def prompts(ctx: ReadContext) -> dict[str, Prompt]:
    """Return all prompts by name: the skills in order, then the tags. A project skill hides a tag of the same name.

    Raises StorageError.
    """
    found = {prompt.name: prompt for prompt in skills.prompts(ctx)}
    catalog = ctx.catalog()
    for name, tag in catalog.vocabulary["tags"].items():
        if name not in found:
            made = tag["kind"] == "skill"
            found[name] = (
                skills.of_skill(ctx, tag["skill"], catalog.skill(tag["skill"]), name)
                if made
                else actions.of_tag(name, tag)
            )
    return found
