"""Ids from files as messages spell them: whole, unless somebody made them absurdly long."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGITS = 20
_LISTED = 10


def spelled(number: float) -> str:
    """`2` for 2 and for 2.0, which are the same id."""
    whole = isinstance(number, int) or number.is_integer()
    text = str(int(number)) if whole else repr(number)
    return text if len(text) <= _DIGITS else f"{text[:_DIGITS]}..."


def listed(numbers: Sequence[float], between: str = ", ") -> str:
    """The numbers; of many those at the ends."""
    if len(numbers) <= _LISTED:
        return between.join(map(spelled, numbers))
    return between.join([*map(spelled, numbers[: _LISTED - 2]), "...", spelled(numbers[-1])])
