"""Our evaluator of JSON Schema agrees with the reference implementation."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from nexus_mcp import schemas
from nexus_mcp.tools import TOOLS
from tests.conftest import CHECKOUT
from tests.contract.test_state_schemas import nodes
from tests.schema_examples import BAD, GOOD

FILES = sorted((CHECKOUT / "schemas").rglob("*.schema.json"))
NAMES = [path.relative_to(CHECKOUT / "schemas").as_posix().removesuffix(".schema.json") for path in FILES]
TOOL_SCHEMAS = [(f"{tool.name} {kind}", getattr(tool, kind)) for tool in TOOLS for kind in ("input_schema", "output")]


def every_schema() -> list[tuple[str, dict[str, Any]]]:
    """Name and schema of all that we ship, the lax forms and those of the tools included."""
    return [
        *((name, schemas.load(name)) for name in NAMES),
        *((f"{name} (readable)", schemas.readable(name)) for name in NAMES if name.startswith("state/")),
        *TOOL_SCHEMAS,
    ]


def undescribed(schema: dict[str, Any]) -> list[str]:
    """Members that lack a description."""
    return [
        place
        for place, node in nodes(schema)
        if place.split("/")[-2:-1] == ["properties"] and not node.get("description", "").strip()
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_keep_the_metaschema(path: Path) -> None:
    """Every file is a schema of draft 2020-12, declares that, and describes each of its fields."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)
    assert undescribed(schema) == []


@pytest.mark.parametrize(("name", "schema"), TOOL_SCHEMAS, ids=[name for name, _ in TOOL_SCHEMAS])
def test_tool_schemas_keep_the_metaschema(name: str, schema: dict[str, Any]) -> None:
    """Every input and output schema of a tool is one of draft 2020-12, for an object; every parameter is described."""
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    if name.endswith("input_schema"):
        assert undescribed(schema) == []


@pytest.mark.parametrize("name", NAMES)
def test_loaded_schema_has_no_reference(name: str) -> None:
    """A loaded schema contains no reference."""
    assert "$ref" not in json.dumps(schemas.load(name))
    assert schemas.load(name) is schemas.load(name)


EXAMPLES = [value for values in GOOD.values() for value in values] + [value for _, _, value in BAD]


@pytest.mark.parametrize(("name", "schema"), every_schema(), ids=[name for name, _ in every_schema()])
def test_verdicts_on_all_examples_equal_the_reference(name: str, schema: dict[str, Any]) -> None:
    """On every example of every schema the verdicts are the same."""
    reference = Draft202012Validator(schema)
    for value in EXAMPLES:
        assert bool(schemas.faults(schema, value)) is not reference.is_valid(value), value


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.integers(2**63, 2**65)
    | st.sampled_from([0.0, -0.0, 1.0, 1.5, 2.0, -1.0, 1e300, 0.1])
    | st.sampled_from(
        [
            "",
            " ",
            "a",
            "a-1",
            "A",
            "9",
            "pending",
            "decided",
            "completed",
            "running",
            "fresh",
            "add",
            "0.5",
            "2020-01-01T00:00:00.000Z",
        ]
    )
    | st.text(max_size=4)
)
KEYS = st.sampled_from(
    sorted({key for _, schema in every_schema() for _, node in nodes(schema) for key in node.get("properties", {})})
) | st.text(max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def instances(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that keep the schema or nearly so: members may be missing, surplus or of any kind."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    options: list[st.SearchStrategy[Any]] = [VALUES]
    if "enum" in schema:
        options.append(st.sampled_from(schema["enum"]))
    options += [instances(branch) for branch in schema.get("anyOf", [])]
    if "object" in kinds or "properties" in schema:
        members = {name: instances(member) for name, member in schema.get("properties", {}).items()}
        required = {name: members.get(name, VALUES) for name in schema.get("required", [])}
        optional = {name: value for name, value in members.items() if name not in required}
        options += [st.fixed_dictionaries(required, optional=optional)] * 4
        others = schema.get("additionalProperties")
        options.append(st.dictionaries(KEYS, instances(others) if isinstance(others, dict) else VALUES, max_size=3))
    if "array" in kinds:
        options += [st.lists(instances(schema.get("items", {})), max_size=3)] * 3
    if "string" in kinds:
        options += [st.text(max_size=3), st.sampled_from(["a", "2020-01-01T00:00:00.000Z", "0.5", "claude-code"])]
    if {"integer", "number"} & set(kinds):
        options += [st.integers(-1, 5), st.sampled_from([1.0, 2.0, 0.0])]
    return st.one_of(options)


@pytest.mark.parametrize(("name", "schema"), every_schema(), ids=[name for name, _ in every_schema()])
def test_verdicts_equal_those_of_the_reference(name: str, schema: dict[str, Any]) -> None:
    """On generated values, valid ones and mutated ones, the verdicts are the same and faults point into the value.

    `make torture` tries 24 times as many values, with the profile `long`.
    """
    reference = Draft202012Validator(schema)

    @settings(max_examples=settings().max_examples // 4, deadline=None, derandomize=True, database=None)
    @given(instances(schema))
    def same(value: Any) -> None:
        kept = copy.deepcopy(value)
        found = schemas.faults(schema, value)
        assert bool(found) is not reference.is_valid(value)
        assert repr(schemas.faults(dict(schema), value)) == repr(found)  # without the fast check
        assert value == kept
        for fault in found:
            assert fault.pointer == "" or fault.pointer.startswith("/")
            assert fault.message

    same()


def test_unknown_keywords_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A keyword that the evaluator does not know is an error at loading, not ignored."""
    path = tmp_path / "schemas" / "odd.schema.json"
    path.parent.mkdir()
    path.write_text('{"type": "string", "multipleOf": 3}')
    monkeypatch.setattr(schemas, "data_path", lambda *parts: str(tmp_path.joinpath(*parts)))
    with pytest.raises(ValueError, match="multipleOf"):
        schemas.load("odd")


def test_dollar_matches_only_at_the_end_of_the_text() -> None:
    """`$` at the end of a pattern is the end of the text, and not the place before a newline there."""
    schema = {"type": "string", "pattern": "^[a-z]+$"}
    assert schemas.faults(schema, "abc") == []
    assert [fault.message for fault in schemas.faults(schema, "abc\n")] == ["must match ^[a-z]+$"]
    assert schemas.faults({"type": "string", "pattern": r"^[a-z]\$"}, "a$\n") == []


def test_no_more_faults_are_made_than_requested() -> None:
    """Of a value with many faults only the requested number is computed, the first ones."""
    schema = schemas.load("state/tasks")
    value = {"goal": 1, "decisions": [1] * 50, "tasks": [{}] * 50, **{f"x{n}": n for n in range(50)}}
    everything = [repr(fault) for fault in schemas.faults(schema, value)]
    assert len(everything) == 1 + 50 + 50 * 6 + 50
    for most in (1, 2, 60, 400):
        assert [repr(fault) for fault in schemas.faults(schema, value, most=most)][:most] == everything[:most]
    assert len(schemas.faults(schema, value, most=60)) < 60 + 6
