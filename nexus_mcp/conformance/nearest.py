"""Suggest the names that an unknown name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

TYPO = 0.87
"""Similarity, as difflib's ratio, from which a name counts as a typing error of a letter or two."""


def did_you_mean(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """Return the end of a message about `name`: "; did you mean task_add?", or "" when no known name is similar."""
    close = get_close_matches(name, list(dict.fromkeys(known)), n=2, cutoff=alike)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def near(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known names, or all when none is near."""
    names = list(known)
    return did_you_mean(name, names) or (f"; known: {', '.join(names)}" if names else "")
