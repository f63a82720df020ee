"""Numbers in words of a command line."""

from __future__ import annotations

from nexus_mcp.errors import UsageError

MOST = 9999
"""The largest number that is taken."""


def from_one(text: str, source: str) -> int:
    """The number that `text` spells, 1 or more. Raises UsageError, naming `source`."""
    # More digits than anybody means are no number here.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) and int(text)):
        raise UsageError(f"{source} needs a number from 1, not {text!r}.")
    return int(text)


def counted(number: int, word: str) -> str:
    """`1 agent`, `2 agents`."""
    return f"{number} {word}{'s' * (number != 1)}"
