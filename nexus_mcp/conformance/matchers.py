"""Match values against expected values: scalars, matchers, and arrays of these. Only patterns use another process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from datetime import datetime
from itertools import islice
from typing import Any

from nexus_mcp.conformance.evidence import NOT_SHOWN, cut_value
from nexus_mcp.conformance.limits import EXPECTED_ITEMS, EXPECTED_LENGTH, PATTERN
from nexus_mcp.conformance.processes import helper
from nexus_mcp.conformance.result import MISSING
from nexus_mcp.schemas import Fault, escape, is_integer
from nexus_mcp.wording import join_first, place_in, suggestion_or_known

_NAMED = 40
_NAME = 80
_WHOLE, _REST = 60, 30
"""In characters: the longest texts that a message shows whole, and what it shows of longer ones where they differ."""
DIFFERS = "differs from "
"""The beginning of the message about two texts of which one is long, and which begin alike."""
KEYS_FOLLOW = "; "
"""The separator between the keys that differ and the rest of the message."""
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-5][0-9])", re.ASCII
)

_LIMITS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "min": (lambda value, limit: value >= limit, "must be at least {}"),
    "max": (lambda value, limit: value <= limit, "must be at most {}"),
    "minLength": (lambda value, limit: len(value) >= limit, "must have a length of at least {}"),
    "pattern": (lambda value, limit: helper.search(limit, value), "must match {}"),
    "keys": (lambda value, limit: set(value) == set(limit), "must have exactly the keys {}"),
}
_APPLIES_TO: dict[str, tuple[str, ...]] = {
    "min": ("number",),
    "max": ("number",),
    "minLength": ("string", "iso8601", "array"),
    "pattern": ("string", "iso8601"),
    "keys": ("object",),
}
"""Key of a matcher -> the types to which it applies."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_moment(value: Any) -> bool:
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "iso8601": (_is_moment, "an ISO 8601 date-time with T and an offset"),
    "string": (lambda value: isinstance(value, str), "a string"),
    "number": (_is_number, "a number"),
    "boolean": (lambda value: isinstance(value, bool), "a boolean"),
    "array": (lambda value: isinstance(value, list), "an array"),
    "object": (lambda value: isinstance(value, dict), "an object"),
}
"""Type of a matcher -> whether a value has it, and its name in messages."""


_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: isinstance(value, str) and value in TYPES, f"must be one of {', '.join(TYPES)}"),
    "min": (_is_number, "must be a number"),
    "max": (_is_number, "must be a number"),
    "minLength": (lambda value: is_integer(value) and value >= 0, "must be an integer from 0"),
    "pattern": (lambda value: isinstance(value, str), "must be a string"),
    "keys": (
        lambda value: isinstance(value, list) and all(isinstance(key, str) for key in value),
        "must be an array of strings",
    ),
}
"""Key of a matcher -> whether a value is allowed for it, and the message if not."""


def mismatch(expected: Any, seen: Any) -> str:
    """Return the mismatch of `seen` in one line; "" if it matches. `seen` may be MISSING, which matches only null.

    Raise HarnessFault and RunHalted, as `helper.search` does for a pattern.
    """
    if isinstance(expected, dict):
        return _against_matcher(expected, seen)
    if isinstance(expected, list):
        return _against_items(expected, seen)
    if expected is None and (seen is None or seen is MISSING):
        return ""
    if seen is not MISSING and same(expected, seen):
        return ""
    if isinstance(expected, str) and isinstance(seen, str):
        return _texts(expected, seen)
    return f"must be {format_value(expected)}, is {format_value(seen)}"


def format_value(value: Any, limit: int = 80) -> str:
    """Return the value as JSON in one line, truncated after `limit` characters, with lone surrogates escaped.

    Return "missing" for MISSING, and NOT_SHOWN for a value that is nested too deeply.
    """
    text = "missing" if value is MISSING else json.dumps(cut_value(value, 4 * limit), ensure_ascii=False)
    if NOT_SHOWN in text:
        return NOT_SHOWN
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= limit else f"{text[:limit]}…"


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal at any depth: 1 equals 1.0, and true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _against_items(expected: list[Any], seen: Any) -> str:
    if not isinstance(seen, list):
        return f"must be an array, is {format_value(seen)}"
    if len(seen) != len(expected):
        return f"must have {len(expected)} item{'s' * (len(expected) != 1)}, has {len(seen)}: {format_value(seen)}"
    for index, (wanted, item) in enumerate(zip(expected, seen, strict=True)):
        if wrong := mismatch(wanted, item):
            return f"item {index} {wrong}"
    return ""


def _against_matcher(matcher: dict[str, Any], seen: Any) -> str:
    fits, name = TYPES[matcher.get("type", "object")]
    if not fits(seen):
        return f"must be {name}, is {format_value(seen)}"
    for member, (holds, words) in _LIMITS.items():
        try:
            if member not in matcher or holds(seen, matcher[member]):
                continue
        except helper.MatchFailed as reason:
            return f"must match {format_value(matcher[member])}; the pattern {reason}; is {format_value(seen)}"
        else:
            if member == "keys":
                return f"{_difference(matcher[member], seen)}{KEYS_FOLLOW}{words.format(_names(matcher[member]))}"
            return f"{words.format(format_value(matcher[member]))}, is {format_value(seen)}"
    return ""


def _difference(wanted: Collection[str], has: Collection[str]) -> str:
    """Return "lacks a, has b too": the keys that differ come first, because a message may be cut."""
    missing, surplus = [key for key in wanted if key not in has], [key for key in has if key not in wanted]
    return ", ".join(
        [f"lacks {_names(missing)}"] * bool(missing) + [f"has {_names(surplus)} too"] * bool(surplus),
    )


def _texts(expected: str, seen: str) -> str:
    """Return the mismatch of two texts that differ.

    If one of them is long and they begin alike, return the place of the first difference, and what follows there.
    """
    if max(len(expected), len(seen)) <= _WHOLE:
        return f"must be {format_value(expected)}, is {format_value(seen)}"
    pairs = enumerate(zip(expected, seen, strict=False))
    place = next((index for index, (one, other) in pairs if one != other), min(len(expected), len(seen)))
    if not place:
        return f"must be {format_value(expected)}, is {format_value(seen)}"
    there = [_from(text, place) for text in (expected, seen)]
    return f"{DIFFERS}{place_in(seen, place)}: must continue with {there[0]}, continues with {there[1]}"


def _from(text: str, place: int) -> str:
    return format_value(text[place : place + _REST]) if place < len(text) else "nothing"


def _names(members: Collection[str]) -> str:
    plain = join_first(
        members, _NAMED, lambda name: name if name.isidentifier() and len(name) <= _NAME else format_value(name)
    )
    return plain or "(none)"


def faults(expected: Any, pointer: str = "") -> list[Fault]:
    """Return the faults of an expected value in a fixture; `pointer` is its place.

    Raise HarnessFault and RunHalted, as `helper.find_fault` does for a pattern.
    """
    if isinstance(expected, list):
        if len(expected) > EXPECTED_ITEMS:
            return [Fault(pointer, f"must have at most {EXPECTED_ITEMS} items")]
        return [fault for index, item in enumerate(expected) for fault in faults(item, f"{pointer}/{index}")]
    if not isinstance(expected, dict):
        return []
    found = []
    for member, value in islice(expected.items(), len(_VALUES) + 1):
        place = f"{pointer}/{escape(member)}"
        if member not in _VALUES:
            found.append(Fault(place, f"is not a known key of a matcher{suggestion_or_known(member, _VALUES)}"))
        elif not _VALUES[member][0](value):
            found.append(Fault(place, _VALUES[member][1]))
    if not {"type", "keys"} & set(expected):
        found.append(Fault(pointer, "must have type or keys, because an object is a matcher here"))
    return found or _too_large(expected, pointer) or _unsatisfiable(expected, pointer)


def _too_large(matcher: dict[str, Any], pointer: str) -> list[Fault]:
    """Return the faults of keys whose values exceed the bounds of the format."""
    found = []
    if len(matcher.get("pattern", "")) > PATTERN:
        found.append(Fault(f"{pointer}/pattern", f"must have at most {PATTERN} characters"))
    if len(matcher.get("keys", [])) > EXPECTED_ITEMS:
        found.append(Fault(f"{pointer}/keys", f"must have at most {EXPECTED_ITEMS} items"))
    if matcher.get("minLength", 0) > EXPECTED_LENGTH:
        found.append(Fault(f"{pointer}/minLength", f"must be at most {EXPECTED_LENGTH}"))
    return found


def _unsatisfiable(matcher: dict[str, Any], pointer: str) -> list[Fault]:
    """Return the faults of keys that have no effect or can never match. All values must have the right types."""
    found = []
    kind = matcher.get("type", "object")
    for member, kinds in _APPLIES_TO.items():
        if member in matcher and kind not in kinds:
            found.append(
                Fault(f"{pointer}/{member}", f"does not apply to {TYPES[kind][1]}, only with type {' or '.join(kinds)}")
            )
    if {"min", "max"} <= set(matcher) and matcher["min"] > matcher["max"]:
        found.append(Fault(f"{pointer}/min", "must not be above max: nothing matches"))
    if "pattern" in matcher and (wrong := helper.find_fault(matcher["pattern"])):
        found.append(Fault(f"{pointer}/pattern", f"is not a valid regular expression: {wrong}"))
    keys = matcher.get("keys", [])
    found += [Fault(f"{pointer}/keys", f"names {key} twice") for key in dict.fromkeys(keys) if keys.count(key) > 1]
    return found
