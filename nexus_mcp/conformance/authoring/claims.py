"""Find what the assertions of fixtures check: fields of state files, keys of answers, and parameters of calls.

A field is written as in `covers`: `topic`, `issues[].title`, `[].agent_id`. The names of fields come from the schemas.
A field behind a `$ref` to another schema file counts as a field of that file.

A parameter of a call or an event counts as asserted when one of these holds:
- The JSONPath of an assertion names it.
- An expected value is the parameter's value or a scalar inside it. Blank texts, booleans, null, 0, 1 and -1 do not
  count, because they match by chance; neither does the expected number of a `.length`.
- An expected pattern or text has a text of the parameter's value as a whole word. A word with fewer than three
  characters counts only in a pattern.
- An assertion expects the parameter's value at a key, and the parameter's name ends with that key: `id` for `issue_id`.
- The path of an asserted file ends with a text of the parameter's value; for `harness_id` the path may have
  {HARNESS_ID} instead.
- The expected message of an error has the name or the value of the parameter.

Values and messages are searched only in the call's own answer and in files, because in another answer they prove
nothing. Assertions on the whole result of a call are not searched.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from nexus_mcp.conformance import jsonpath
from nexus_mcp.conformance.fixture import WHOLE_TEXT, Action, Asserts, Event, Fixture, Kill, Parallel, Step
from nexus_mcp.conformance.matchers import mismatch
from nexus_mcp.conformance.tokens import STATE_ROOT
from nexus_mcp.packaged import data_path

Schema = dict[str, Any]
Field = tuple[str, str]
"""(name of a schema file, field in it)"""

_ENDING = ".schema.json"

Place = tuple[str, str, Schema]
"""File, field and schema of a node."""
_TRIES = 1000
_ESCAPED = re.compile(r"\\(\W)|\\\w")


@functools.cache
def state_schemas() -> tuple[str, ...]:
    """Return the names of the published schemas of state files, such as `plan.schema.json`."""
    return tuple(sorted(name for name in os.listdir(data_path("schemas", "state")) if name.endswith(_ENDING)))


@functools.cache
def fields_of(schema_file: str) -> tuple[str, ...]:
    """Return every field of a schema file, in the order of the file, without the fields of files to which it refers."""
    return tuple(dict.fromkeys(field for field, _ in _places(schema_file) if field and not field.endswith("]")))


@functools.cache
def claimed_field(schema_file: str, name: str) -> Field | None:
    """Return the field that an entry of `covers` names, None when the schema has none.

    The published format (docs/fixtures.md) spells some fields differently. In it, the fields of a file that is an array
    begin without `[]`. The name of an array of scalars ends with `[]`. A field of a referenced file has its path in the
    referring file, such as `cycles[].plan.topic` in the history.
    """
    if name in fields_of(schema_file):
        return schema_file, name
    plain = name.removesuffix("[]")
    segments: list[str | int] = []
    for part in plain.split("."):
        field = part.rstrip("[]")
        segments += [field] * bool(field) + [0] * part.count("[]")
    starts = [(schema_file, "", _read(schema_file))]
    for way in (tuple(segments), (0, *segments)):
        passed = _walk(starts, way, nothing=False)
        found = [(file, field) for file, field, _ in passed if field in fields_of(file)]
        # If every segment of the path has a place, the last place is that of the whole name.
        if len(passed) >= len(way) and found and _ends_like(found[-1][1], plain):
            return found[-1]
    return None


def _ends_like(field: str, name: str) -> bool:
    """Return whether a field ends with the last part of the name."""
    return field.rpartition(".")[2].replace("[]", "") == name.rpartition(".")[2].replace("[]", "")


def schema_of(path: str) -> str:
    """Return the name of the schema for the file at this path from the project root, "" if there is none."""
    folder, _, name = path.replace("{STATE_ROOT}", STATE_ROOT).rpartition("/")
    schema_file = name.partition(".")[0] + _ENDING
    if not f"{folder}/".startswith(".nexus/") or "/artifacts" in folder or schema_file not in state_schemas():
        return ""
    return schema_file


def touched_fields(path: str, query: str, expected: Any) -> set[Field]:
    """Return the fields that an assertion on a file checks: those on its JSONPath, and those that `keys` names,
    also in expected array items.

    An expected null also matches a missing node, so it checks no field unless the schema allows null for the field.
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
    """Return the keys of an answer that an assertion checks, written like fields; an expected null checks none."""
    compiled = jsonpath.compile(query)
    segments = compiled.segments[:-1] if compiled.wants_length else compiled.segments
    found = set()
    for way, wanted in _ways(segments, expected):
        if wanted is None:
            continue
        at = ""
        for segment in way:
            at = _join_path(at, segment)
            found.add(at)
    return found


def _ways(segments: tuple[str | int, ...], expected: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield (path, expected value) of an assertion, of its expected array items, and of the names in `keys`.

    The expected value of a name in `keys` is the matcher: only its presence is expected.
    """
    yield segments, expected
    if isinstance(expected, list):
        for index, item in enumerate(expected):
            yield from _ways((*segments, index), item)
    elif isinstance(expected, dict):
        for name in expected.get("keys", ()):
            yield (*segments, name), expected


def _join_path(at: str, segment: str | int) -> str:
    if isinstance(segment, int):
        return f"{at}[]"
    return f"{at}.{segment}" if at else segment


def _walk(starts: list[Place], segments: tuple[str | int, ...], *, nothing: bool) -> list[Place]:
    """Return the places along a path, up to the first key that the schema does not have.

    With `nothing` the assertion expects null at the end of the path, so there are no places unless the schema allows
    null there.
    """
    passed: list[Place] = []
    places = [opened for start in starts for opened in _open_place(start)]
    for segment in segments:
        below = []
        for file, field, schema in places:
            inner = schema.get("items") if isinstance(segment, int) else schema.get("properties", {}).get(segment)
            if isinstance(inner, dict):
                below.append((file, _join_path(field, segment), inner))
        passed += below
        places = [opened for place in below for opened in _open_place(place)]
    return passed if not nothing or any("null" in _types(schema) for _, _, schema in places) else []


def _types(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _open_place(place: Place) -> Iterator[Place]:
    """Yield the places to which the references and alternatives of a place lead, perhaps in another schema file.

    Yield the place itself unless it is a reference.
    """
    file, field, schema = place
    for branch in schema.get("anyOf", ()):
        yield from _open_place((file, field, branch))
    other, _, name = schema.get("$ref", "").partition("#/$defs/")
    if other:
        document = _read(other)
        target = document["$defs"][name] if name else document
        uses = [found for found, ref in _places(other) if ref == name] if name else [""]
        for use in uses:
            yield from _open_place((other, use, target))
    elif name:
        yield from _open_place((file, field, _read(file)["$defs"][name]))
    else:
        yield place


@functools.cache
def _places(schema_file: str) -> tuple[tuple[str, str], ...]:
    """Return the field of each node of a schema file, with the local definition that the node refers to, or ""."""

    def below(schema: Schema, field: str) -> Iterator[tuple[str, str]]:
        other, _, name = schema.get("$ref", "").partition("#/$defs/")
        yield field, "" if other else name
        if name and not other:
            yield from below(document["$defs"][name], field)
        for branch in schema.get("anyOf", ()):
            yield from below(branch, field)
        for member, inner in schema.get("properties", {}).items():
            yield from below(inner, _join_path(field, member))
        if "items" in schema:
            yield from below(schema["items"], f"{field}[]")

    document = _read(schema_file)
    return tuple(below(document, ""))


@functools.cache
def _read(schema_file: str) -> Schema:
    with open(data_path("schemas", "state", schema_file), encoding="utf-8") as file:
        schema: Schema = json.load(file)
    return schema


def all_asserts(fixture: Fixture) -> Iterator[Asserts]:
    """Yield the assertions of every step, lanes included, and of the postcondition."""
    for step in fixture.steps:
        yield from _asserts_of(step)
    yield fixture.postcondition


def _asserts_of(step: Step) -> Iterator[Asserts]:
    if isinstance(step.do, Parallel):
        for lane in step.do.lanes:
            for inner in lane:
                yield from _asserts_of(inner)
    yield step.asserts


def parameters(fixture: Fixture) -> dict[str, list[Any]]:
    """Return name of a parameter → its values in all requests."""
    found: dict[str, list[Any]] = {}
    for request in fixture.requests:
        for name, value in request.params.items():
            found.setdefault(name, []).append(value)
    return found


def answers(fixture: Fixture) -> Iterator[tuple[Action | Event, list[Asserts]]]:
    """Yield each request with all assertions on its answer. The postcondition asserts the last answer outside lanes."""
    found = [(step, *one) for step in fixture.steps for one in _answers_of(step)]
    last = next((step for step, *_ in reversed(found) if not isinstance(step.do, Parallel)), None)
    for step, request, asserts in found:
        yield request, [asserts, fixture.postcondition] if step is last else [asserts]


def _answers_of(step: Step) -> Iterator[tuple[Action | Event, Asserts]]:
    do = step.do
    if isinstance(do, Parallel):
        for lane in do.lanes:
            for inner in lane:
                yield from _answers_of(inner)
    elif isinstance(do, Kill):
        yield do.action, step.asserts
    elif isinstance(do, (Action, Event)):
        yield do, step.asserts


def asserted_parameters(fixture: Fixture) -> set[str]:
    """Return the parameters that an assertion checks."""
    every = list(all_asserts(fixture))
    files = [(path, wanted or {}) for asserts in every for path, wanted in asserts.state_files.items()]
    inside = [pair for _, wanted in files for pair in wanted.items()]
    named = {
        segment
        for query in (*(query for query, _ in inside), *(query for one in every for query in one.return_value or ()))
        if query != WHOLE_TEXT
        for segment in jsonpath.compile(query).segments
    }
    return {
        name
        for request, own in answers(fixture)
        for name, value in request.params.items()
        if name in named
        or any(_in_path(path, name, value) for path, _ in files)
        or any(_asserts_value(query, expected, name, value) for query, expected in inside)
        or any(_in_answer(asserts, name, value) for asserts in own)
    }


def _in_answer(asserts: Asserts, name: str, value: Any) -> bool:
    pairs = (asserts.return_value or {}).items()
    return any(_asserts_value(query, expected, name, value) for query, expected in pairs) or any(
        _in_message(message, name, value) for message in _messages(asserts)
    )


def _asserts_value(query: str, expected: Any, name: str, value: Any) -> bool:
    return _shows(query, expected, list(_distinctive_scalars(value))) or (
        _ends_in(query, name) and _equal(expected, value)
    )


def _ends_in(query: str, name: str) -> bool:
    """Return whether the query selects a key with which the parameter's name ends, such as `id` for `issue_id`."""
    last = jsonpath.compile(query).segments[-1:] if query != WHOLE_TEXT else ()
    return any(isinstance(segment, str) and name.endswith(f"_{segment}") for segment in last)


def _equal(expected: Any, value: Any) -> bool:
    return not isinstance(expected, dict) and mismatch(expected, value) == ""


def _distinctive_scalars(value: Any) -> Iterator[str | int | float]:
    """Yield the scalars in a value that are unlikely to match by chance."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _distinctive_scalars(item)
    elif isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1, -1):
        yield value


def _shows(query: str, expected: Any, scalars: list[str | int | float]) -> bool:
    if isinstance(expected, list):
        return any(_shows(query, item, scalars) for item in expected)
    texts = [one for one in scalars if isinstance(one, str)]
    if isinstance(expected, dict):
        return any(_has_word(_plain(expected), one) for one in texts)
    if isinstance(expected, str):
        return any(one == expected or (len(one) > 2 and _has_word(expected, one)) for one in texts)
    if isinstance(expected, bool) or expected is None or query.endswith(".length"):
        return False
    return any(one in (expected, str(expected)) for one in scalars)


def _plain(matcher: dict[str, Any]) -> str:
    """Return the text of a matcher's pattern without backslashes, with a blank for each escaped letter such as \\b."""
    return _ESCAPED.sub(lambda match: match[1] or " ", matcher.get("pattern", ""))


def _has_word(text: str, word: str) -> bool:
    """Return whether `word` is in the text as a whole word, among its first _TRIES occurrences."""
    place = -1
    for _ in range(_TRIES):
        place = text.find(word, place + 1)
        if place < 0:
            return False
        around = text[max(0, place - 1) : place] + text[place + len(word) : place + len(word) + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return True
    return False


def _in_path(path: str, name: str, value: Any) -> bool:
    if name == "harness_id" and "{HARNESS_ID}" in path:
        return True
    return any(isinstance(one, str) and f"/{path}".endswith(f"/{one}") for one in _distinctive_scalars(value))


def _messages(asserts: Asserts) -> Iterator[str]:
    """Yield the texts of the expected error messages."""
    if asserts.error_contains is not None:
        yield asserts.error_contains
    for query, expected in (asserts.return_value or {}).items():
        if jsonpath.compile(query).segments == ("error",):
            text = _plain(expected) if isinstance(expected, dict) else expected
            if isinstance(text, str):
                yield text


def _in_message(message: str, name: str, value: Any) -> bool:
    shown = [name] if isinstance(value, (list, dict, bool)) or value is None else [name, str(value)]
    return any(_has_word(message, word) for word in shown if word.strip())
