"""Tests on single values that the evaluator and the compiled checks share: types, sizes, patterns."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ((str, "maxLength", "characters"), (list, "maxItems", "items"), (dict, "maxProperties", "members"))
"""Type of a value, the keyword that bounds its size, and what is counted."""
_searches: dict[str, Callable[[str], object]] = {}


def is_integer(value: object) -> bool:
    """Return whether JSON Schema calls it an integer: 2 and 2.0 are, true is not."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": is_number,
    "integer": is_integer,
}


def same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def search(pattern: str) -> Callable[[str], object]:
    """Return the search function of a JSON Schema pattern, compiled once: every timestamp is checked."""
    if pattern not in _searches:
        import re

        # In Python `$` also matches before a newline at the end; in JSON Schema it does not.
        _searches[pattern] = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern)).search
    return _searches[pattern]
