"""Skills for tags: which an agent may select by itself, and what a harness adds to their text."""

from __future__ import annotations

from nexus_mcp.catalog.placeholders import read_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog


def selectable(catalog: Catalog) -> list[dict[str, str]]:
    """Return the skills that an agent may select by itself: [{"id", "name", "description"}], by id.

    A skill that only an explicit tag or slash command starts (contract §5) is not included.
    """
    return [
        {field: skill[field] for field in ("id", "name", "description")}
        for _, skill in sorted(catalog.skills.items())
        if not skill["manual_only"]
    ]


def harness_notes(skill: dict[str, Any], harness_id: str) -> str:
    """Return how the harness starts and resumes agents; "" if the skill does not need it, or it is unknown."""
    return read_notes(harness_id).strip() if skill["harness_notes"] else ""
