"""The shapes that params can have, and the check of a value against one.

A shape is
- a word: "any", "string", "integer", "token" (string or integer), "boolean", "object" (any members);
- a frozenset: one of these strings;
- a list of one shape: an array of such items;
- a tuple: whichever of these shapes fits;
- {"*": shape}: an object all of whose members have this shape;
- any other dict: an object with these members. "name?" may be missing or null, "name~" may be missing but not null.
  Members it does not name are allowed.

What counts as an integer or a boolean is what the official SDK takes for one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRUTH = frozenset({"0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"})


def fits(shape: Any, value: Any) -> bool:
    """True when the value has the shape."""
    if isinstance(shape, str):
        return _fits_word(shape, value)
    if isinstance(shape, frozenset):
        return isinstance(value, str) and value in shape
    if isinstance(shape, tuple):
        return any(fits(choice, value) for choice in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(shape[0], item) for item in value)
    if not isinstance(value, dict):
        return False
    if "*" in shape:
        return all(fits(shape["*"], item) for item in value.values())
    for name, inner in shape.items():
        mark = name[-1]
        key = name[:-1] if mark in "?~" else name
        if key not in value:
            if mark not in "?~":
                return False
        elif not (value[key] is None and mark == "?") and not fits(inner, value[key]):
            return False
    return True


def _fits_word(word: str, value: Any) -> bool:
    if word == "any":
        return True
    if word == "boolean":
        return _is_boolean(value)
    if isinstance(value, str):
        return word in ("string", "token") or (word == "integer" and _is_integer(value))
    return isinstance(value, dict) if word == "object" else word in ("integer", "token") and _is_integer(value)


def _is_integer(value: Any) -> bool:
    if isinstance(value, str):
        import re  # a number sent as a string: rare, and only the ttl of a task can be one

        return re.fullmatch(r"\s*[+-]?[0-9]+(_[0-9]+)*(\.0*)?\s*", value) is not None
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _is_boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in _TRUTH
    return isinstance(value, (int, float)) and value in (0, 1)
