"""The format of Nexus 0.12, as it was published, held against ours: what it allows is read, what we added is marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.authoring.claims import claimed_field
from nexus_mcp.conformance.lint import lint
from nexus_mcp.conformance.loading import load
from tests.conformance.test_fixtures_page import SCHEMA, objects

# Object of the published schema -> its fields with their JSON types. A null among them may stand for the whole value.
PUBLISHED: dict[str, dict[str, str]] = {
    "fixture": {
        "test_id": "string",
        "description": "string",
        "covers": "object",
        "uncovered_params": "array",
        "precondition": "object",
        "action": "object",
        "event": "object",
        "steps": "array",
        "postcondition": "object",
    },
    "covers": {"state_schemas": "object", "return_value": "object", "description": "string"},
    "precondition": {"state_files": "object"},
    "action": {"tool": "string", "params": "object"},
    "event": {"type": "string", "params": "object", "description": "string"},
    "step": {
        "description": "string",
        "action": "object",
        "event": "object",
        "assert_return": "object",
        "assert_state": "object",
    },
    "postcondition": {
        "return_value": "object",
        "error": "boolean",
        "error_contains": "string",
        "state_files": "object",
    },
    "matcher": {"type": "string", "min": "number", "max": "number", "minLength": "number", "pattern": "string"},
}
REQUIRED = {
    "fixture": {"test_id", "description", "covers"},
    "action": {"tool", "params"},
    "event": {"type"},
    "matcher": {"type"},
}
TYPES = {"iso8601", "string", "number", "boolean"}
EVENTS = ("agent_spawn", "agent_complete", "agent_resume", "session_end")
NAMES = SCHEMA["$defs"]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what it refers to."""
    return {**NAMES[schema["$ref"].rpartition("/")[2]], **schema} if "$ref" in schema else schema


def schema_of(name: str) -> dict[str, Any]:
    """Return our schema of an object."""
    found: dict[str, Any] = SCHEMA
    if name != "fixture":
        found = NAMES[name] if name in NAMES else SCHEMA["properties"][name]
    return found


@pytest.mark.parametrize("name", PUBLISHED)
def test_fields_without_a_mark_are_those_of_the_published_format(name: str) -> None:
    """An object has every field that was published; each other field is marked as an addition, and no published one."""
    ours = {field for field, member in objects()[name].items() if "(addition)" not in member.get("description", "")}
    assert ours == set(PUBLISHED[name])


@pytest.mark.parametrize("name", PUBLISHED)
def test_nothing_more_is_required(name: str) -> None:
    """We require no field that the published format does not require."""
    assert set(schema_of(name).get("required", ())) <= REQUIRED.get(name, set())


@pytest.mark.parametrize(("name", "field"), [(name, field) for name in PUBLISHED for field in PUBLISHED[name]])
def test_field_has_the_published_type(name: str, field: str) -> None:
    """A field takes the published type; a length is a whole number."""
    kind = resolved(objects()[name][field])["type"]
    assert PUBLISHED[name][field] in kind or (field, kind) == ("minLength", "integer")


def test_words_of_the_published_format_are_known() -> None:
    """The types of a matcher and the limits of a fixture's id and description are the published ones, or wider."""
    assert set(objects()["matcher"]["type"]["enum"]) >= TYPES
    assert objects()["fixture"]["test_id"]["pattern"] == "^[a-z][a-z0-9_-]*$"
    assert objects()["fixture"]["description"]["minLength"] == 10


PLAN = ".nexus/state/plan.json"
SCALARS: tuple[Any, ...] = ("text", "", 1, 1.5, True, None)
MATCHERS: tuple[dict[str, Any], ...] = (
    *({"type": kind} for kind in sorted(TYPES)),
    {"type": "number", "min": 1, "max": 2.5},
    {"type": "string", "minLength": 1, "pattern": "^a"},
)
ACTION = {"tool": "plan_status", "params": {}}
COVERS = {"return_value": {"plan_status": ["active"]}}


def published(**more: Any) -> dict[str, Any]:
    """Return a fixture with all that the published format requires."""
    return {"test_id": "a-fixture_1", "description": "Ten chars.", "covers": COVERS, "action": ACTION, **more}


def stepped(**step: Any) -> dict[str, Any]:
    raw = published(steps=[{"description": "Why.", "action": ACTION, **step}])
    del raw["action"]
    return raw


def told(event: dict[str, Any]) -> dict[str, Any]:
    raw = published(event=event, covers={"state_schemas": {"agent-tracker.schema.json": ["status"]}})
    del raw["action"]
    return {**raw, "postcondition": {"state_files": {"{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json": None}}}


EMPTY: tuple[dict[str, Any] | None, ...] = (None, {})
FILES: tuple[dict[str, Any] | None, ...] = (None, {}, {"$.issues.length": 2})
FORMS = [
    *(published(postcondition={"return_value": {"$.a[0].b": value}}) for value in (*SCALARS, *MATCHERS)),
    *(published(postcondition={"state_files": {PLAN: {"$.id": value}}}) for value in (*SCALARS, *MATCHERS)),
    *(published(postcondition={"state_files": {PLAN: value}}) for value in FILES),
    *(published(precondition={"state_files": {PLAN: value}}, postcondition={"error": True}) for value in EMPTY),
    published(precondition={"state_files": {"{STATE_ROOT}/tasks.json": {"goal": ""}}}, postcondition={"error": False}),
    published(postcondition={"error": True, "error_contains": "No"}),
    published(postcondition={"error_contains": ""}),
    published(covers={**COVERS, "description": "Why."}, postcondition={"error": True}),
    published(
        action={"tool": "plan_update", "params": {"action": "add"}},
        covers={"return_value": {"plan_update": ["added"]}},
        uncovered_params=["action"],
        postcondition={"error": True},
    ),
    *(stepped(assert_return={"$.a": value}) for value in (*SCALARS, *MATCHERS)),
    *(stepped(assert_state={PLAN: value}) for value in (None, {}, {"$.id": 1})),
    *(told({"type": kind, "params": {"harness_id": "h"}, "description": "When."}) for kind in EVENTS),
    told({"type": "session_end"}),
]


@pytest.mark.parametrize("raw", FORMS, ids=range(len(FORMS)))
def test_every_published_form_is_read(tmp_path: Path, raw: dict[str, Any]) -> None:
    """Fixtures with each field of the published format, and with each form of its values, have no fault."""
    path = tmp_path / "fixture.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    (fixture,) = load([str(path)])
    assert fixture.test_id == "a-fixture_1"
    assert lint([str(path)]) == []


def test_schema_beside_the_fixtures_is_named_once(tmp_path: Path) -> None:
    """A JSON schema in a folder of fixtures, as the published folder has it, is one fault."""
    path = tmp_path / "plan.schema.json"
    path.write_text(json.dumps({"$schema": "x", "title": "Plan", "type": "object", "properties": {}}), "utf-8")
    (fault,) = lint([str(tmp_path)])
    assert fault == f"{path}: is a JSON schema and no fixture; name the folders or the files of the fixtures"


def test_forms_use_every_published_field() -> None:
    """The forms above have every field of every published object."""
    text = json.dumps(FORMS)
    assert [field for fields in PUBLISHED.values() for field in fields if f'"{field}": ' not in text] == []


@pytest.mark.parametrize(
    ("schema", "name", "field"),
    [
        ("agent-tracker.schema.json", "status", ("agent-tracker.schema.json", "[].status")),
        ("agent-tracker.schema.json", "files_touched[]", ("agent-tracker.schema.json", "[].files_touched")),
        ("history.schema.json", "cycles[].branch", ("cycle.schema.json", "branch")),
        ("history.schema.json", "cycles[].plan.issues[].status", ("plan.schema.json", "issues[].status")),
        ("history.schema.json", "cycles[].tasks[].deps[]", ("tasks.schema.json", "tasks[].deps")),
        ("plan.schema.json", "issues[].how_agents[]", ("plan.schema.json", "issues[].how_agents")),
        ("plan.schema.json", "topic", ("plan.schema.json", "topic")),
        ("plan.schema.json", "topics", None),
        ("history.schema.json", "cycles[].brunch", None),
        ("history.schema.json", "cycles[].plan.issues[].state", None),
        ("history.schema.json", "", None),
    ],
)
def test_covers_is_read_as_it_was_published(schema: str, name: str, field: tuple[str, str] | None) -> None:
    """A field of `covers` is found by its published spelling; a mistyped one is not."""
    assert claimed_field(schema, name) == field
