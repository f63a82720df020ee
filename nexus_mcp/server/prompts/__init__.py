"""Prompts: what a user can ask for by name, one for each skill and each tag."""

from __future__ import annotations

from nexus_mcp.server.prompts import actions, skills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.prompts.definition import Prompt
    from nexus_mcp.server.resources.definition import Look


def prompts(look: Look) -> dict[str, Prompt]:
    """All prompts by name: the skills in order, then the tags. A skill of the project that is called as a tag hides it.

    Raises StorageError.
    """
    found = {prompt.name: prompt for prompt in skills.prompts(look)}
    catalog = look.catalog()
    for name, tag in catalog.vocabulary["tags"].items():
        if name not in found:
            made = tag["kind"] == "skill"
            found[name] = (
                skills.of_skill(look, tag["skill"], catalog.skill(tag["skill"]), name)
                if made
                else actions.of_tag(name, tag)
            )
    return found
