"""Skills as tags need them: which may be offered for automatic selection, and what a harness adds to a body."""

from __future__ import annotations

from nexus_mcp.catalog.harness_notes import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog


def selectable(catalog: Catalog) -> list[dict[str, str]]:
    """The skills that an agent may choose by itself: [{"id", "name", "description"}], by id.

    One that is started by hand alone (contract §5: an explicit tag or slash command) is never among them.
    """
    return [
        {member: skill[member] for member in ("id", "name", "description")}
        for _, skill in sorted(catalog.skills.items())
        if not skill["manual_only"]
    ]


def harness_notes(skill: dict[str, Any], harness_id: str) -> str:
    """How the harness starts and resumes agents, for a skill that needs it; "" where it does not, or nobody knows."""
    return read(harness_id).strip() if skill["harness_notes"] else ""
