"""Compile a schema into one function that returns whether a value is valid, without reasons.

Files are nearly always valid and every call checks them. This is many times as fast as `schemas.faults`, which runs
only for invalid values.
"""

from __future__ import annotations

from nexus_mcp.schemas.values import SIZES, TYPES, is_number, same, search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Keeps = Callable[[Any], bool]


def compile_check(schema: dict[str, Any]) -> Keeps:
    """Return a function that tests a value against a resolved schema."""
    made = {make: make(schema) for make in (_enum, _any_of, _string, _range, _object, _array, _sizes)}
    checks = [check for check in made.values() if check is not None]
    # One function for the check and the type saves one call for each value.
    refusing = _REFUSING.get(str(schema.get("type")))
    if refusing is None or made[refusing] is None:
        checks[:0] = _type(schema)
    if len(checks) == 1:
        return checks[0]

    def keeps(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - a generator costs more than the checks
            if not check(value):
                return False
        return True

    return keeps


def _type(schema: dict[str, Any]) -> list[Keeps]:
    wanted = schema.get("type")
    if wanted is None or (wanted == "string" and _is_of_strings(schema)):
        return []
    kinds = [TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted)]
    return kinds if len(kinds) == 1 else [lambda value: any(kind(value) for kind in kinds)]


def _enum(schema: dict[str, Any]) -> Keeps | None:
    if "enum" not in schema:
        return None
    allowed = schema["enum"]
    if _is_of_strings(schema):
        return lambda value: isinstance(value, str) and value in allowed
    return lambda value: any(same(value, one) for one in allowed)


def _is_of_strings(schema: dict[str, Any]) -> bool:
    return "enum" in schema and all(isinstance(one, str) for one in schema["enum"])


def _any_of(schema: dict[str, Any]) -> Keeps | None:
    if "anyOf" not in schema:
        return None
    branches = [compile_check(branch) for branch in schema["anyOf"]]
    return lambda value: any(branch(value) for branch in branches)


def _string(schema: dict[str, Any]) -> Keeps | None:
    least = schema.get("minLength", 0)
    found = search(schema["pattern"]) if "pattern" in schema else None
    other = schema.get("type") != "string"
    if found is None:
        return (lambda value: len(value) >= least if isinstance(value, str) else other) if least else None
    return lambda value: (len(value) >= least and bool(found(value))) if isinstance(value, str) else other


def _range(schema: dict[str, Any]) -> Keeps | None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if most is None:
        return None if least is None else lambda value: not is_number(value) or value >= least
    return lambda value: not is_number(value) or (value <= most and (least is None or value >= least))


def _sizes(schema: dict[str, Any]) -> Keeps | None:
    """Check the upper bounds of sizes, which few schemas have."""
    bounds = [(kind, schema[name]) for kind, name, _ in SIZES if name in schema]
    if not bounds:
        return None
    return lambda value: all(not isinstance(value, kind) or len(value) <= most for kind, most in bounds)


def _array(schema: dict[str, Any]) -> Keeps | None:
    if not schema.get("items"):
        return None
    item = compile_check(schema["items"])
    other = schema.get("type") != "array"
    return lambda value: all(map(item, value)) if isinstance(value, list) else other


def _object(schema: dict[str, Any]) -> Keeps | None:
    required = schema.get("required", ())
    members = {name: compile_check(member) for name, member in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties", True)
    if not required and not members and others is True:
        return None
    other = compile_check(others) if isinstance(others, dict) else None
    otherwise = schema.get("type") != "object"
    texts = [name for name, member in schema.get("properties", {}).items() if member == {"type": "string"}]
    checks = [(name, check) for name, check in members.items() if name not in texts]

    def keeps(value: Any) -> bool:
        if not isinstance(value, dict):
            return otherwise
        for name in required:
            if name not in value:
                return False
        if others is True:
            for name in texts:  # most fields, which need no call each then
                if name in value and not isinstance(value[name], str):
                    return False
            for name, check in checks:  # noqa: SIM110 - as above
                if name in value and not check(value[name]):
                    return False
            return True
        for name, member in value.items():
            wanted = members.get(name, other)
            if wanted is None or not wanted(member):
                return False
        return True

    return keeps


_REFUSING = {"object": _object, "array": _array, "string": _string}
"""By type: the check that also refuses values of other types."""
