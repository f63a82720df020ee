"""Texts that several prompts share: the outcome of a tag, lists, the user's own words."""

from __future__ import annotations

from nexus_mcp.server.prompts.definition import Wrong, own_words
from nexus_mcp.tags.route import Outcomes

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.prompts.definition import Arguments
    from nexus_mcp.server.resources.definition import ReadContext

MOST = 50
"""Lines about issues or notes at most."""
LONGEST = 200
"""Characters of a quoted title or path at most."""


def outcome(ctx: ReadContext, tag: str, variant: str = "", text: str = "") -> dict[str, Any]:
    """Return the outcome of a tag (Outcomes.of). Raises NexusError."""
    outcomes = Outcomes(ctx.catalog(), ctx.store, ctx.workspace.harness_id)
    return outcomes.of({"tag": tag, "variant": variant, "text": text})


def bullet_list(lines: list[str]) -> str:
    """Return the lines as a Markdown list of at most MOST items."""
    rest = len(lines) - MOST
    return "\n".join(f"- {line}" for line in [*lines[:MOST], *([f"and {rest} more"] if rest > 0 else [])])


def user_words(arguments: Arguments, before: str = "") -> str:
    """Return the section with the user's text, after a word `before` it that was parsed as another argument."""
    return own_words("The user's words:", f"{before} {arguments['text']}".strip())


def require_text(arguments: Arguments) -> None:
    """Raise Wrong when the argument `text` is missing."""
    if "text" not in arguments:
        raise Wrong("text is required")
