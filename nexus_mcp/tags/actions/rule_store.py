"""rule_store, `[rule:frontend] text`: add a text to .nexus/rules/frontend.md; a new file begins with a tag line.

`[rule] text` adds to the general rules in .nexus/rules/general.md.
"""

from __future__ import annotations

from nexus_mcp.knowledge import index, names, notes
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.quoting import quoted_name
from nexus_mcp.tags.actions.definition import Action, split_tag_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.tags.actions.definition import ActionContext

KIND = "rules"
GENERAL = "general"


def preview(ctx: ActionContext, variant: str, text: str) -> dict[str, Any]:
    name, _, kept = _parse(ctx, variant, text)
    with ctx.store.nexus() as nexus:
        before = notes.read(nexus, KIND, name)
    return _result("creates" if before is None else "unchanged" if notes.contains(before, kept) else "extends", name)


def run(ctx: ActionContext, variant: str, text: str) -> dict[str, Any]:
    name, tags, kept = _parse(ctx, variant, text)
    with notes.locked(ctx.store, KIND) as (_, folder, held):
        return _result(notes.put(folder, name, kept, tags, held), name)


def _parse(ctx: ActionContext, variant: str, text: str) -> tuple[str, list[str], str]:
    """Return (file name, tags for a new file, text). Raises NexusError for a text or name that cannot be stored."""
    pattern = ctx.catalog.vocabulary["memory_policy"]["name_pattern"]
    tags, kept = split_tag_line(text, f"rule:{quoted_name(variant)}" if variant else "rule")
    name = names.check_name(f"{variant or GENERAL}{SUFFIX}", pattern, f".nexus/{KIND}")
    return name, tags or [name.removesuffix(SUFFIX)[: index.LONGEST_TAG]], kept


def _result(result: str, name: str) -> dict[str, Any]:
    return {"result": result, "path": f"{KIND}/{name}", "similar": [], "next_step": ""}


ACTION = Action(preview, run)
