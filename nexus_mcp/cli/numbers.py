"""Numbers in words of a command line."""

from __future__ import annotations

from nexus_mcp.errors import UsageError

MANY = 10**9
"""What stands for any larger number where no bound is given: more than there is of anything."""
_SHOWN = 40  # characters of a wrong number


def from_one(text: str, source: str, most: int | None = None) -> int:
    """Return the number that `text` spells: 1 or more, and `most` at most. Without `most` none is too large.

    Raises UsageError, which names `source` and the bounds.
    """
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    limit = MANY if most is None else most
    is_long = len(digits) > len(str(limit))
    if not digits or (most is not None and (is_long or int(digits) > most)):
        bounds = f"from 1 to {most}" if digits else "from 1"
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise UsageError(f"{source} needs a number {bounds}, not {shown!r}.")
    return limit if is_long else min(int(digits), limit)


def counted(number: int, word: str) -> str:
    """`1 agent`, `2 agents`."""
    return f"{number} {word}{'s' * (number != 1)}"
