"""Which members of an answer, and which fields of the state schemas, an assertion looks at.

A field is spelled as in `covers`: `topic`, `issues[].title`, `[].agent_id`. Nothing here knows a field by name: the
schemas are walked. A reference to another file leads to the fields of that file, where it is used there.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from typing import Any

from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.tokens import STATE_ROOT
from nexus_mcp.packaged import data_path

Schema = dict[str, Any]
Field = tuple[str, str]
"""Name of a schema file, and a field in it."""

_ENDING = ".schema.json"


@functools.cache
def state_schemas() -> tuple[str, ...]:
    """The names of the published schemas of state files, such as `plan.schema.json`."""
    return tuple(sorted(name for name in os.listdir(data_path("schemas", "state")) if name.endswith(_ENDING)))


@functools.cache
def fields_of(schema_file: str) -> tuple[str, ...]:
    """Every field of a schema, in its order; those of another file that it refers to are that file's."""
    return tuple(dict.fromkeys(field for field, _ in _places(schema_file) if field and not field.endswith("]")))


def schema_of(path: str) -> str:
    """The schema of the file at this path from the project root, "" when it has none."""
    folder, _, name = path.replace("{STATE_ROOT}", STATE_ROOT).rpartition("/")
    schema_file = name.partition(".")[0] + _ENDING
    if not f"{folder}/".startswith(".nexus/") or "/artifacts" in folder or schema_file not in state_schemas():
        return ""
    return schema_file


def touched_fields(path: str, query: str, expected: Any) -> set[Field]:
    """The fields that an assertion on the file at `path` looks at: those on its way, and those that `keys` names.

    One that expects null also holds where nothing is there: it looks at nothing, unless null is a value of the field.
    """
    schema_file = schema_of(path)
    if not schema_file:
        return set()
    segments = jsonpath.compile(query).segments
    if path.endswith(".jsonl"):
        segments = segments[1:]
    starts = [(schema_file, "", _read(schema_file))]
    return {
        (place[0], place[1])
        for way, wanted in _ways(segments, expected)
        for place in _walk(starts, way, nothing=wanted is None)
        if place[1] and not place[1].endswith("]")
    }


def touched_members(query: str, expected: Any) -> set[str]:
    """The members of an answer that an assertion looks at, in the same spelling: none when it expects null."""
    compiled = jsonpath.compile(query)
    segments = compiled.segments[:-1] if compiled.wants_length else compiled.segments
    found = set()
    for way, wanted in _ways(segments, expected):
        if wanted is None:
            continue
        at = ""
        for segment in way:
            at = _joined(at, segment)
            found.add(at)
    return found


def _ways(segments: tuple[str | int, ...], expected: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The path itself, and those of the members that the expected value names below it; what is expected there."""
    yield segments, expected
    if isinstance(expected, list):
        for index, item in enumerate(expected):
            yield from _ways((*segments, index), item)
    elif isinstance(expected, dict):
        for name in expected.get("keys", ()):
            yield (*segments, name), expected


def _joined(at: str, segment: str | int) -> str:
    if isinstance(segment, int):
        return f"{at}[]"
    return f"{at}.{segment}" if at else segment


Place = tuple[str, str, Schema]
"""File, field and schema of a node."""


def _walk(starts: list[Place], segments: tuple[str | int, ...], *, nothing: bool) -> list[Place]:
    """Every place on the way; it ends where the schema knows no such member.

    `nothing`: null is expected at the end, and there are no places unless it may be a value there.
    """
    passed: list[Place] = []
    places = [opened for start in starts for opened in _opened(start)]
    for segment in segments:
        below = []
        for file, field, schema in places:
            inner = schema.get("items") if isinstance(segment, int) else schema.get("properties", {}).get(segment)
            if isinstance(inner, dict):
                below.append((file, _joined(field, segment), inner))
        passed += below
        places = [opened for place in below for opened in _opened(place)]
    return passed if not nothing or any("null" in _types(schema) for _, _, schema in places) else []


def _types(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _opened(place: Place) -> Iterator[Place]:
    """The place with references and alternatives resolved; a reference to another file goes to its places."""
    file, field, schema = place
    for branch in schema.get("anyOf", ()):
        yield from _opened((file, field, branch))
    other, _, name = schema.get("$ref", "").partition("#/$defs/")
    if other:
        document = _read(other)
        target = document["$defs"][name] if name else document
        uses = [found for found, ref in _places(other) if ref == name] if name else [""]
        for use in uses:
            yield from _opened((other, use, target))
    elif name:
        yield from _opened((file, field, _read(file)["$defs"][name]))
    else:
        yield place


@functools.cache
def _places(schema_file: str) -> tuple[tuple[str, str], ...]:
    """Field of every node of a file, with the local definition that it refers to, or ""."""

    def below(schema: Schema, field: str) -> Iterator[tuple[str, str]]:
        other, _, name = schema.get("$ref", "").partition("#/$defs/")
        yield field, "" if other else name
        if name and not other:
            yield from below(document["$defs"][name], field)
        for branch in schema.get("anyOf", ()):
            yield from below(branch, field)
        for member, inner in schema.get("properties", {}).items():
            yield from below(inner, _joined(field, member))
        if "items" in schema:
            yield from below(schema["items"], f"{field}[]")

    document = _read(schema_file)
    return tuple(below(document, ""))


@functools.cache
def _read(schema_file: str) -> Schema:
    with open(data_path("schemas", "state", schema_file), encoding="utf-8") as file:
        schema: Schema = json.load(file)
    return schema
