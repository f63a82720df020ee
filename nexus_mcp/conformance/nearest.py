"""What an unknown name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

TYPO = 0.87
"""How alike a name and what was meant are, by difflib's ratio, when a letter or two are wrong."""


def did_you_mean(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """The end of a message about `name`: "; did you mean task_add?", or nothing when no known name looks like it."""
    close = get_close_matches(name, list(dict.fromkeys(known)), n=2, cutoff=alike)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def near(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known ones, or all when none is near."""
    names = list(known)
    return did_you_mean(name, names) or (f"; known: {', '.join(names)}" if names else "")
