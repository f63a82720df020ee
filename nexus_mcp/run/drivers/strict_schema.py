"""A JSON Schema in the strict form that services of OpenAI accept for a structured answer. Pure.

There each object names all of its members as required, allows no others, and few keywords are known. A member that may
be absent becomes one that may be null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEPT = ("type", "enum", "const", "$ref", "description")


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in the strict form; what it cannot say, such as lengths and defaults, is left out."""
    found = {name: schema[name] for name in _KEPT if name in schema}
    if "$defs" in schema:
        found["$defs"] = {name: strict(one) for name, one in schema["$defs"].items()}
    if "anyOf" in schema:
        found["anyOf"] = [strict(one) for one in schema["anyOf"]]
    if "items" in schema:
        found["items"] = strict(schema["items"])
    if "const" in schema:  # the services know lists of values only
        found = {**found, "enum": [found.pop("const")]}
    if "properties" in schema:
        required = schema.get("required", ())
        found["properties"] = {
            name: strict(one) if name in required or _may_be_null(one) else {"anyOf": [strict(one), {"type": "null"}]}
            for name, one in schema["properties"].items()
        }
        found |= {"required": list(schema["properties"]), "additionalProperties": False}
    return found


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "null" for one in schema.get("anyOf", ()))
