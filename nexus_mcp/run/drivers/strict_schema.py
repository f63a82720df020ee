"""Convert a JSON Schema to the strict form that OpenAI's services require for structured answers. Pure.

In this form each object requires all of its fields and allows no others, and few keywords are allowed. An optional
field becomes one that may be null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEPT = ("type", "enum", "const", "$ref", "description")


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in the strict form, without keywords that the form does not allow, such as lengths and
    defaults.
    """
    found = {name: schema[name] for name in _KEPT if name in schema}
    if "$defs" in schema:
        found["$defs"] = {name: strict(one) for name, one in schema["$defs"].items()}
    if "anyOf" in schema:
        found["anyOf"] = [strict(one) for one in schema["anyOf"]]
    if "items" in schema:
        found["items"] = strict(schema["items"])
    if "const" in schema:  # the services accept only `enum`
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
