"""A task as the agent that does it is told of it: the sections that the Nexus contract names, and its risk."""

from __future__ import annotations

from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SECTIONS = ("context", "approach", "acceptance", "risk")
LIMIT = 16_000
"""Characters of a section at most; a title is a line, and shorter."""
_TITLE = 400
_TAB = "    "
_MARK = "> "
_CUT = "(cut here; task_list and plan_status have the whole)"


def task_text(task: Mapping[str, Any]) -> str:
    """`TASK:` and the title, then `CONTEXT:`, `APPROACH:`, `ACCEPTANCE:` and `RISK:`; absent ones left out.

    The texts are data from a file: each line of them has a mark before it, so that none looks like a part of this
    text, and control and bidirectional characters are visible escapes.
    """
    parts = [f"TASK: {line(task.get('title'), _TITLE)}"]
    for name in SECTIONS:
        text = task.get(name)
        if isinstance(text, str) and text.strip():
            parts.append(f"{name.upper()}:\n{block(text)}")
    return "\n\n".join(parts)


def line(text: object, most: int) -> str:
    """A stored text on one line, of so many characters at most."""
    given = " ".join(text.split()) if isinstance(text, str) else ""
    return printable(given[:most]) + ("…" if len(given) > most else "")


def block(text: str) -> str:
    """A stored text, line by line, each behind a mark."""
    cut = text[:LIMIT]
    lines = cut.strip("\r\n").replace("\r\n", "\n").expandtabs(len(_TAB)).split("\n")
    quoted = "\n".join(f"{_MARK}{printable(one)}".rstrip() for one in lines)
    return quoted if len(cut) == len(text) else f"{quoted}\n{_CUT}"
