"""Load the JSON Schemas of schemas/, and check values with a small evaluator of the keywords that they use.

`faults` says where a value breaks a schema, and why. Files are nearly always valid and every call checks them, so a
schema that is used again is compiled into one function that says only whether a value is valid: that is many times as
fast. A library would cost every server at least 40 ms and 8 MB (docs/decisions/0002). The tests compare this
evaluator with `jsonschema`. A keyword that it does not know is an error when a schema is loaded, never ignored.
"""

from __future__ import annotations

import json

from nexus_mcp.packaged import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Keeps = Callable[[Any], bool]

_ANNOTATIONS = frozenset(
    ("$schema", "$id", "$comment", "title", "description", "default", "examples", "format", "$defs")
)
_ASSERTIONS = frozenset(
    (
        *("$ref", "type", "enum", "anyOf", "pattern", "minLength", "maxLength", "minimum", "maximum"),
        *("required", "properties", "additionalProperties", "items", "maxItems", "maxProperties"),
    )
)
UNKNOWN_FIELD = "is not a known field"
_ALL = 1 << 62
SIZES = ((str, "maxLength", "characters"), (list, "maxItems", "items"), (dict, "maxProperties", "members"))
"""Type of a value, the keyword that bounds its size, and the unit of the size."""
_searches: dict[str, Callable[[str], object]] = {}
_loaded: dict[str, Schema] = {}
_readable: dict[str, Schema] = {}


class Schema(dict):  # type: ignore[type-arg]
    """A cached schema. Its compiled check is made once, when it is first needed."""

    __slots__ = ("_is_used", "_keeps")

    _is_used: bool
    _keeps: Callable[[object], bool]

    def is_used_again(self) -> bool:
        """Return whether this is not the first use: one check of a small file is faster without compiling."""
        try:
            return self._is_used
        except AttributeError:
            self._is_used = True
            return False

    def prepare(self) -> None:
        """Compile the check ahead of its use."""
        self._is_used = True
        self.keeps(None)

    def keeps(self, value: object) -> bool:
        """Return whether `value` has no faults."""
        try:
            check = self._keeps
        except AttributeError:
            check = self._keeps = compile_check(self)
        return check(value)


class Fault:
    """One way in which a value breaks a schema. `pointer` is a JSON pointer ("" for the whole value)."""

    __slots__ = ("message", "pointer")

    def __init__(self, pointer: str, message: str) -> None:
        self.pointer = pointer
        self.message = message

    def __repr__(self) -> str:
        return f"Fault({self.pointer!r}, {self.message!r})"


def load(name: str) -> Schema:
    """Return the schema `schemas/<name>.schema.json` with its `$ref`s resolved, read once.

    Raise ValueError if the schema uses a keyword that `faults` does not evaluate, or an assertion beside `$ref`.
    """
    if name not in _loaded:
        raw = _read(name)
        _loaded[name] = _resolve(raw, raw, name)
    return _loaded[name]


def _read(name: str) -> dict[str, Any]:
    with open(data_path("schemas", *f"{name}.schema.json".split("/")), encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def readable(name: str) -> Schema:
    """Return the part of a schema that a file must satisfy to be read, whichever program wrote it: required fields,
    with types, enums and minima.
    """
    if name not in _readable:
        _readable[name] = _lax(load(name))
    return _readable[name]


def _resolve(schema: Any, document: dict[str, Any], name: str) -> Any:
    if not isinstance(schema, dict):
        return schema
    unknown = set(schema) - _ANNOTATIONS - _ASSERTIONS
    if unknown or ("$ref" in schema and not set(schema) <= _ANNOTATIONS | {"$ref"}):
        raise ValueError(f"{name}: keywords that are not evaluated: {sorted(unknown or set(schema) - _ANNOTATIONS)}")
    if "$ref" in schema:
        file, _, fragment = schema["$ref"].partition("#/$defs/")
        if file:
            name = f"{name.rpartition('/')[0]}/{file.removesuffix('.schema.json')}"
            document = _read(name)
        target = document["$defs"][fragment] if fragment else document
        return Schema({**_resolve(target, document, name), **{k: v for k, v in schema.items() if k != "$ref"}})
    out = Schema({k: v for k, v in schema.items() if k != "$defs"})
    if "properties" in schema:
        out["properties"] = {k: _resolve(v, document, name) for k, v in schema["properties"].items()}
    if "anyOf" in schema:
        out["anyOf"] = [_resolve(branch, document, name) for branch in schema["anyOf"]]
    for key in ("items", "additionalProperties"):
        if key in schema:
            out[key] = _resolve(schema[key], document, name)
    return out


def _lax(schema: Any) -> Schema:
    required = schema.get("required", ())
    out = Schema({k: schema[k] for k in ("type", "enum", "minimum", "required") if k in schema})
    if "properties" in schema:
        out["properties"] = {k: _lax(v) for k, v in schema["properties"].items() if k in required}
    if isinstance(schema.get("items"), dict):
        out["items"] = _lax(schema["items"])
    return out


def faults(schema: dict[str, Any], value: object, pointer: str = "", most: int = _ALL) -> list[Fault]:
    """Return the violations of `schema` (draft 2020-12) in `value`: those of each value, then those inside it; [] for a
    valid value.

    Each pointer begins with `pointer`. Stop soon after the first `most` violations (1 or more).
    """
    quickly = isinstance(schema, Schema) and schema.is_used_again() and schema.keeps(value)
    return [] if quickly else _below(pointer, _faults(schema, value, most))


def readable_faults(name: str, value: object, most: int = _ALL) -> list[Fault]:
    """Return the faults of `value` by `readable(name)`."""
    return faults(readable(name), value, most=most)


def _below(pointer: str, found: list[Fault]) -> list[Fault]:
    # Pointers are built for faults only: building one per value takes longer than checking it.
    return [Fault(pointer + fault.pointer, fault.message) for fault in found] if found else found


def _faults(schema: dict[str, Any], value: object, most: int = _ALL) -> list[Fault]:
    wanted = schema.get("type")
    if wanted is not None:
        names = [wanted] if isinstance(wanted, str) else wanted
        if not (TYPES[names[0]](value) or any(TYPES[name](value) for name in names[1:])):
            return [Fault("", f"must be of type {' or '.join(names)}")]
    found: list[Fault] = []
    if "enum" in schema and not any(same(value, allowed) for allowed in schema["enum"]):
        found.append(Fault("", f"must be one of {', '.join(map(str, schema['enum']))}"))
    if "anyOf" in schema and all(_faults(branch, value, most=1) for branch in schema["anyOf"]):
        found.append(Fault("", "must match one of the allowed shapes"))
    _check_most(schema, value, found)
    if isinstance(value, str):
        _check_string(schema, value, found)
    elif isinstance(value, dict):
        _check_object(schema, value, found, most)
    elif isinstance(value, list):
        items = schema.get("items")
        if items:
            for index, item in enumerate(value):
                if len(found) >= most:
                    break
                found += _below(f"/{index}", _faults(items, item, most - len(found)))
    elif "minimum" in schema and is_number(value) and value < schema["minimum"]:
        found.append(Fault("", f"must be at least {schema['minimum']}"))
    return found


def _check_most(schema: dict[str, Any], value: object, found: list[Fault]) -> None:
    if "maximum" in schema and is_number(value) and value > schema["maximum"]:
        found.append(Fault("", f"must be at most {schema['maximum']}"))
    for kind, name, counted in SIZES:
        if name in schema and isinstance(value, kind) and len(value) > schema[name]:
            found.append(Fault("", f"must have at most {schema[name]} {counted}"))


def _check_string(schema: dict[str, Any], value: str, found: list[Fault]) -> None:
    if len(value) < schema.get("minLength", 0):
        found.append(Fault("", "must not be empty"))
    if "pattern" in schema and not search(schema["pattern"])(value):
        found.append(Fault("", f"must match {schema['pattern']}"))


def _check_object(schema: dict[str, Any], value: dict[str, object], found: list[Fault], most: int) -> None:
    properties = schema.get("properties", {})
    found.extend(Fault(f"/{escape(name)}", "is required") for name in schema.get("required", ()) if name not in value)
    others = schema.get("additionalProperties", True)
    for name, member in value.items():
        if len(found) >= most:
            return
        if name in properties:
            below = _faults(properties[name], member, most - len(found))
        elif others is False:
            below = [Fault("", UNKNOWN_FIELD)]
        elif isinstance(others, dict):
            below = _faults(others, member, most - len(found))
        else:
            continue
        if below:
            found += _below(f"/{escape(name)}", below)


def escape(name: str) -> str:
    """Return a field's name escaped for a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


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
        if schema.get("type") in ("integer", "number"):  # `type` already refused other values
            return None if least is None else lambda value: value >= least
        return None if least is None else lambda value: not is_number(value) or value >= least
    return lambda value: not is_number(value) or (value <= most and (least is None or value >= least))


def _sizes(schema: dict[str, Any]) -> Keeps | None:
    """Return the check of the upper bounds of sizes; None without bounds, as in most schemas."""
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
            for name in texts:  # most fields are texts: test them without a call each
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
"""Type -> the check that also refuses values of other types."""


def is_integer(value: object) -> bool:
    """Return whether JSON Schema calls a value an integer: 2 and 2.0 are integers, true is not."""
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
