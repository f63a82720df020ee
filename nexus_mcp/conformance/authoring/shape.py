"""Check a fixture against its published schema, with clearer messages about alternatives than the evaluator's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from nexus_mcp import schemas
from nexus_mcp.conformance.limits import FAULTS
from nexus_mcp.schemas import Fault
from nexus_mcp.wording import nearest, suggestion_or_known

Schema = dict[str, Any]


def shape_faults(raw: Any) -> list[Fault]:
    """Return the faults of a fixture, as JSON, against its schema: at most FAULTS of them."""
    return list(islice(_reword_faults(schemas.load("conformance/fixture"), raw, ""), FAULTS))


def _reword_faults(schema: Schema, value: Any, pointer: str) -> Iterator[Fault]:
    for fault in schemas.faults(schema, value, pointer, FAULTS):
        path = _parts(fault.pointer[len(pointer) :])
        node = _below(schema, path)
        if node is None:
            known = (_below(schema, path[:-1]) or {}).get("properties", {})
            yield Fault(fault.pointer, f"{fault.message}{suggestion_or_known(path[-1], known)}")
            continue
        inner = _at(value, path)
        if _fits_none(node, inner):
            yield from _alternatives(node, inner, fault.pointer)
        elif isinstance(inner, str) and len(inner) < node.get("minLength", 0) > 1:
            yield Fault(fault.pointer, f"must have at least {node['minLength']} characters")
        elif node.get("enum") == [True] and inner is False:
            yield Fault(fault.pointer, "must be true or absent")
        else:
            yield fault


def _fits_none(node: Schema, value: Any) -> bool:
    """Return whether `value` is at fault at `node` because it matches none of the alternatives."""
    if "anyOf" not in node or ("type" in node and schemas.faults({"type": node["type"]}, value)):
        return False
    return all(schemas.faults(branch, value) for branch in node["anyOf"])


def _alternatives(node: Schema, value: Any, pointer: str) -> Iterator[Fault]:
    branches: list[Schema] = node["anyOf"]
    if all(set(branch) == {"required"} for branch in branches):
        wanted = [branch["required"][0] for branch in branches]
        # No message if one of these keys is only mistyped: another fault reports the unknown key.
        if not any(nearest(name, wanted) for name in set(value) - set(node.get("properties", {}))):
            yield Fault(pointer, f"must have {_or(wanted)}")
        return
    for branch in branches:
        if not schemas.faults({"type": branch["type"]}, value):
            yield from _reword_faults(branch, value, pointer)
            return
    kinds = [branch["type"] for branch in branches]
    names = [name for kind in kinds for name in ([kind] if isinstance(kind, str) else kind)]
    yield Fault(pointer, f"must be of type {_or(names)}")


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _below(schema: Schema, path: list[str]) -> Schema | None:
    """Return the schema of the value at `path`, None when the schema has no such key."""
    for part in path:
        others = schema.get("additionalProperties")
        below = schema.get("properties", {}).get(part) or schema.get("items") or others
        if not isinstance(below, dict):
            return None
        schema = below
    return schema


def _at(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value[int(part)] if isinstance(value, list) else value.get(part)
    return value
