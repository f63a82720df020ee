"""Phrases that messages of every room share: shortened lists, suggestions for unknown names, lines and columns."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import TypeVar

    T = TypeVar("T")

_ALIKE = 0.6
"""The least ratio of difflib at which a known name is suggested."""
_NEARLY = 0.1
"""A second name is suggested when its ratio differs from the best by no more than this."""


def join_first(items: Collection[T], most: int, shown: Callable[[T], str] = str) -> str:
    """Return the first `most` items and the number of the rest: `a, b and 3 more`."""
    return ", ".join(map(shown, islice(items, most))) + and_more(len(items) - most)


def list_first(items: Collection[T], most: int, shown: Callable[[T], str] = str) -> list[str]:
    """Return a text for each of the first `most` items, and one for the rest: `and 3 more`."""
    return [*map(shown, islice(items, most)), *rest_line(len(items) - most)]


def and_more(rest: int) -> str:
    """Return ` and 3 more` for a rest of 3, "" for none."""
    return "".join(f" {text}" for text in rest_line(rest))


def rest_line(rest: int) -> list[str]:
    """Return [`and 3 more`] for a rest of 3, [] for none."""
    return [f"and {rest} more"] if rest > 0 else []


def nearest(name: str, known: Iterable[str], alike: float = _ALIKE) -> list[str]:
    """Return the known name that is most similar to `name`, ignoring case, and a second one if it is nearly as similar.

    Return [] when no name has a ratio of at least `alike`. The time is quadratic in the length of the names.
    """
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, "", name.lower())
    ratios: dict[str, float] = {}
    for one in known:
        matcher.set_seq1(one.lower())
        if matcher.real_quick_ratio() >= alike and matcher.quick_ratio() >= alike:
            ratios[one] = matcher.ratio()
    highest = max(ratios.values(), default=0.0)
    least = 1.0 if highest == 1.0 else max(alike, highest - _NEARLY)
    return sorted((one for one in ratios if ratios[one] >= least), key=lambda one: -ratios[one])[:2]


def did_you_mean(names: Collection[str]) -> str:
    """Return the end of a message about an unknown name: `; did you mean a or b?`, "" without names."""
    return f"; did you mean {' or '.join(names)}?" if names else ""


def suggestion(name: str, known: Iterable[str], alike: float = _ALIKE) -> str:
    """Return the end of a message about an unknown name: `; did you mean a or b?`, "" when no known name is near."""
    return did_you_mean(nearest(name, known, alike))


def suggestion_or_known(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known names, or all when none is near."""
    names = list(known)
    return suggestion(name, names) or (f"; known: {', '.join(names)}" if names else "")


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1. A byte order mark takes no column."""
    start = text.rfind("\n", 0, position) + 1 or int(text.startswith("\ufeff"))
    return text.count("\n", 0, position) + 1, max(position, start) - start + 1


def place_in(text: str, position: int) -> str:
    """Return `line 3, column 5` for an offset."""
    return _place(line_and_column(text, position))


def line_and_column_of_byte(data: bytes, position: int) -> tuple[int, int]:
    """Return line and column of an offset in bytes, both from 1.

    A column is a character, or a byte that belongs to none. A byte order mark takes no column.
    """
    start = data.rfind(b"\n", 0, position) + 1
    before = data[start:position].decode("utf-8", "surrogateescape")
    has_mark = not start and before.startswith("\ufeff")
    return data.count(b"\n", 0, position) + 1, len(before) - has_mark + 1


def place_of_byte(data: bytes, position: int) -> str:
    """Return `line 3, column 5` for an offset in bytes."""
    return _place(line_and_column_of_byte(data, position))


def _place(place: tuple[int, int]) -> str:
    return "line {}, column {}".format(*place)


def finished_text(number: int) -> str:
    """Return the sentence about an open cycle with this number of tasks, all of which are completed."""
    what = "The only task is" if number == 1 else f"All {number} tasks are"
    return f"{what} completed, but the cycle is not closed."
