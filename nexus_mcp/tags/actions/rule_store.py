"""rule_store, `[rule:frontend] text`: adds a text to .nexus/rules/frontend.md, which is begun with its tags line.

Without a word the rules are those of everybody: .nexus/rules/general.md.
"""

from __future__ import annotations

from nexus_mcp.knowledge import names, notes, tag_line
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.quoting import quoted_name
from nexus_mcp.tags.actions.definition import Action, with_tags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.tags.actions.definition import Desk

KIND = "rules"
GENERAL = "general"


def preview(desk: Desk, variant: str, text: str) -> dict[str, Any]:
    name, _, kept = _wanted(desk, variant, text)
    with desk.store.nexus() as nexus:
        before = notes.read(nexus, KIND, name)
    return _told("creates" if before is None else "unchanged" if notes.has(before, kept) else "extends", name)


def run(desk: Desk, variant: str, text: str) -> dict[str, Any]:
    name, tags, kept = _wanted(desk, variant, text)
    with notes.locked(desk.store, KIND) as (_, folder, held):
        return _told(notes.put(folder, name, kept, tags, held), name)


def _wanted(desk: Desk, variant: str, text: str) -> tuple[str, list[str], str]:
    """(the file's name, the tags of a new one, the text). Raises NexusError for what cannot be kept."""
    pattern = desk.catalog.vocabulary["memory_policy"]["name_pattern"]
    tags, kept = with_tags(text, f"rule:{quoted_name(variant)}" if variant else "rule")
    name = names.checked(f"{variant or GENERAL}{SUFFIX}", pattern, f".nexus/{KIND}")
    return name, tags or [name.removesuffix(SUFFIX)[: tag_line.LONGEST_TAG]], kept


def _told(result: str, name: str) -> dict[str, Any]:
    return {"result": result, "path": f"{KIND}/{name}", "similar": [], "next_step": ""}


ACTION = Action(preview, run)
