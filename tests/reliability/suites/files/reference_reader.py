"""Read the bytes of a state file without the server's own reader and schema evaluator.

docs/decisions/0005 says what is refused: bytes that are not JSON in UTF-8, values that two readers could understand
differently, a required field that is missing or of the wrong type, and an unknown status.
"""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

Json = Any

TEXT: Json = {"type": "string"}
_ID: Json = {"type": "integer", "minimum": 1}


def _objects(**members: Json) -> Json:
    return {"type": "array", "items": {"type": "object", "required": list(members), "properties": members}}


def _object(**members: Json) -> Json:
    return {"type": "object", "required": list(members), "properties": members}


_ISSUES = _objects(id=_ID, title=TEXT, status={"enum": ["pending", "decided"]})
_TASKS = _objects(
    id=_ID,
    title=TEXT,
    context=TEXT,
    status={"enum": ["pending", "in_progress", "completed"]},
    deps={"type": "array", "items": {"type": "number"}},
    created_at=TEXT,
)
_AGENTS = _objects(harness_id=TEXT, started_at=TEXT)
_AGENTS["items"]["properties"]["status"] = {"enum": ["running", "completed"]}
# The fields that every reader relies on, by the contract. All other fields may have any value.
_SHAPES = {
    "plan": _object(id=_ID, topic=TEXT, issues=_ISSUES, created_at=TEXT),
    "tasks": _object(goal=TEXT, decisions={"type": "array", "items": TEXT}, tasks=_TASKS),
    "history": _object(cycles={"type": "array", "items": {"type": "object"}}),
    "tracker": _AGENTS,
    "line": {"type": "object"},
    "journal": {"type": "object"},
}
_VALIDATORS = {kind: Draft202012Validator(shape) for kind, shape in _SHAPES.items()}
_DEEPEST = {"history": 128, "journal": 127}
_DIGITS = 4300


class Broken(Exception):
    """The file is invalid: no tool may answer from it or overwrite it. The text of the error is the reason."""


class Spelled(str):
    """The text of a number in its file."""


def read(kind: str, data: bytes) -> Json:
    """Return the value of a file of this kind. Raise Broken."""
    value = parsed(data, numbers=kind != "history", deepest=_DEEPEST.get(kind, 64))
    error = next(_VALIDATORS[kind].iter_errors(value), None)
    if error is not None:
        raise Broken(f"{error.json_path}: {error.message[:100]}")
    return value


def parsed(data: bytes, *, numbers: bool = True, deepest: int = 64, spelled: bool = False) -> Json:
    """Return the JSON value in `data`. `numbers`: refuse those that Python cannot hold. `spelled`: keep their text."""

    def whole(digits: str) -> Json:
        if spelled:
            return Spelled(digits)
        if len(digits.lstrip("-")) <= _DIGITS:
            return int(digits)
        return broken("too many digits") if numbers else float(digits)

    def real(digits: str) -> Json:
        if spelled:
            return Spelled(digits)
        value = float(digits)
        return broken("too large") if numbers and value in (float("inf"), float("-inf")) else value

    try:
        text = data.decode().removeprefix("\ufeff")
        value = json.loads(text, object_pairs_hook=_members, parse_constant=broken, parse_int=whole, parse_float=real)
    except (ValueError, RecursionError) as error:
        raise Broken(str(error)) from error
    if _deeper(value, deepest):
        raise Broken("too deep")
    return value


def broken(why: str) -> Json:
    """Raise Broken."""
    raise Broken(why)


def _members(pairs: list[tuple[str, Json]]) -> Json:
    value = dict(pairs)
    return value if len(value) == len(pairs) else broken("a member twice")


def _deeper(value: Json, most: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    if most == 0:
        return True
    return any(_deeper(inner, most - 1) for inner in (value.values() if isinstance(value, dict) else value))


def same(one: Json, other: Json) -> bool:
    """Return whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def is_written_by_us(value: Json) -> bool:
    """Return whether we may write a file with this version: without a version, or with major number 0."""
    version = value.get("schema_version")
    if version is None:
        return True
    major = version.split(".")[0] if isinstance(version, str) else ""
    return major != "" and set(major) == {"0"}
