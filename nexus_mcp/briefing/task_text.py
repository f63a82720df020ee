"""A task as the agent that does it is told of it: the sections that the Nexus contract names, and its risk."""

from __future__ import annotations

from nexus_mcp.quoting import line, marked_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SECTIONS = ("context", "approach", "acceptance", "risk")
LIMIT = 16_000
"""Characters of a section at most; a title is a line, and shorter."""
_TITLE = 400
_CUT = "(cut here; task_list and plan_status have the whole)"


def task_text(task: Mapping[str, Any]) -> str:
    """`TASK:` and the title, then `CONTEXT:`, `APPROACH:`, `ACCEPTANCE:` and `RISK:`; absent ones left out.

    The texts are data from a file: each line of them has a mark before it, so that none looks like a part of this
    text; the title is on one line. See quoting.py for what is escaped.
    """
    parts = [f"TASK: {line(task.get('title'), _TITLE)}"]
    for name in SECTIONS:
        text = task.get(name)
        if isinstance(text, str) and text.strip():
            parts.append(f"{name.upper()}:\n{block(text)}")
    return "\n\n".join(parts)


def block(text: str) -> str:
    """A stored text line by line, each behind a mark, LIMIT characters at most."""
    return marked_lines(text, LIMIT, _CUT)
