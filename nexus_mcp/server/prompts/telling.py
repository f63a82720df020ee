"""What the texts of several prompts are made of."""

from __future__ import annotations

from nexus_mcp.server.prompts.definition import Wrong, own_words
from nexus_mcp.tags.outcomes import Outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.prompts.definition import Given
    from nexus_mcp.server.resources.definition import Look

MOST = 50
"""Lines about issues or notes at most."""
LONGEST = 200
"""Characters of a quoted title or path at most."""


def outcome(look: Look, tag: str, variant: str = "", text: str = "") -> dict[str, Any]:
    """What a tag would come to (Outcomes.of). Raises NexusError."""
    outcomes = Outcomes(look.catalog(), look.store, look.workspace.harness_id)
    return outcomes.of({"tag": tag, "variant": variant, "text": text})


def listed(lines: list[str]) -> str:
    rest = len(lines) - MOST
    return "\n".join(f"- {line}" for line in [*lines[:MOST], *([f"and {rest} more"] if rest > 0 else [])])


def words(given: Given, before: str = "") -> str:
    """The user's own words, behind one `before` them that was taken for something else."""
    return own_words("The user's words:", f"{before} {given['text']}".strip())


def need(given: Given) -> None:
    if "text" not in given:
        raise Wrong("text is required")
