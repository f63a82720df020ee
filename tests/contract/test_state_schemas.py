"""Values that the published schemas of state files accept, by the reference validator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nexus_mcp import schemas
from tests.conftest import CHECKOUT
from tests.schema_examples import BAD, GOOD

Errors = Callable[[str, Any], list[str]]
NAMES = sorted(
    path.name.removesuffix(".schema.json") for path in (CHECKOUT / "schemas" / "state").glob("*.schema.json")
)


@pytest.mark.requirement("plan.schema", "tasks.schema", "history.schema", "tracker.schema", "access.schema")
def test_every_schema_has_examples() -> None:
    """Each schema of state files has values that pass and values that do not."""
    assert sorted(GOOD) == NAMES
    assert sorted({name for name, _, _ in BAD}) == NAMES


@pytest.mark.requirement(
    "plan.schema", "plan.issue-schema", "plan.issue-status", "plan.how-types", "tasks.schema", "tasks.task-schema",
    "tasks.task-status", "tasks.policy",
    "history.schema", "history.cycle-keys", "tracker.schema", "tracker.fields", "access.schema",
)  # fmt: skip
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_valid_values_pass_both_evaluators(schema_errors: Errors, name: str, value: Any) -> None:
    """Values of the contract's shapes pass, in our evaluator too."""
    assert schema_errors(name, value) == []
    assert schemas.faults(schemas.load(f"state/{name}"), value) == []


@pytest.mark.requirement(
    "plan.schema", "plan.issue-schema", "plan.issue-status", "plan.how-types", "tasks.schema", "tasks.task-schema",
    "tasks.task-status", "tasks.policy",
    "history.schema", "history.cycle-keys", "tracker.schema", "tracker.fields", "tracker.closed", "access.schema",
    "files.closed",
)  # fmt: skip
@pytest.mark.parametrize(("name", "where", "value"), BAD, ids=[f"{name} {where}" for name, where, _ in BAD])
def test_invalid_value_is_reported_at_its_place(schema_errors: Errors, name: str, where: str, value: Any) -> None:
    """A value with one fault is invalid, and our evaluator reports the place of the fault."""
    assert schema_errors(name, value)
    faults = schemas.faults(schemas.load(f"state/{name}"), value)
    assert faults
    pointer = where.split(" ", maxsplit=1)[0]
    found = [fault.pointer for fault in faults]
    assert any(place.startswith(pointer) or pointer.startswith(place) for place in found), found


def nodes(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every schema within a schema, with its place."""
    if isinstance(schema, dict):
        yield place, schema
        for key in ("properties", "$defs"):
            for name, member in schema.get(key, {}).items():
                yield from nodes(member, f"{place}/{key}/{name}")
        for key in ("items", "additionalProperties", "not", "if", "then", "else"):
            yield from nodes(schema.get(key), f"{place}/{key}")
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for index, member in enumerate(schema.get(key, [])):
                yield from nodes(member, f"{place}/{key}/{index}")


# What contract level 0.12 knows, in the order in which it is written.
ORDER = {
    "plan": ["schema_version", "id", "topic", "issues", "research_summary", "created_at"],
    "plan#issue": ["id", "title", "status", "decision", "how_agents", "how_summary", "how_agent_ids"],
    "tasks": ["schema_version", "goal", "decisions", "tasks"],
    "tasks#task": [
        "id", "title", "context", "approach", "acceptance", "risk", "status", "deps", "plan_issue", "owner",
        "owner_agent_id", "owner_reuse_policy",
        "created_at",
    ],
    "history": ["schema_version", "cycles"],
    "cycle": ["schema_version", "completed_at", "branch", "plan", "tasks"],
    "agent-tracker#entry": [
        "harness_id", "started_at", "agent_name", "agent_id", "last_resumed_at", "resume_count", "status", "stopped_at",
        "last_message", "files_touched",
    ],
    "memory-access": ["path", "last_accessed_ts", "access_count", "last_agent", "schema_version"],
}  # fmt: skip


@pytest.mark.requirement(
    "plan.keys", "tasks.keys", "files.key-order", "tracker.closed", "access.schema", "history.cycle-keys",
)  # fmt: skip
@pytest.mark.parametrize("name", ORDER)
def test_objects_have_the_fields_of_the_contract_in_order(name: str) -> None:
    """Each object has the contract's members; those that we write are in the order in which they are written."""
    file, _, part = name.partition("#")
    schema = schemas.load(f"state/{file}")
    inner = {"issue": ("issues",), "task": ("tasks",), "entry": ()}
    if part:
        for step in inner[part]:
            schema = schema["properties"][step]
        schema = schema["items"]
    found = list(schema["properties"])
    if file in {"agent-tracker", "memory-access"}:
        assert sorted(found) == sorted(ORDER[name])
    else:
        assert found == ORDER[name]
    assert schema["additionalProperties"] is False


@pytest.mark.requirement("tracker.closed", "plan.schema", "tasks.schema")
@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_described_and_closed(name: str) -> None:
    """Every field has a description, and every object is closed or has a schema for its values."""
    for place, node in nodes(schemas.load(f"state/{name}")):
        if place.split("/")[-2:-1] == ["properties"] or not place:
            assert node.get("description", "").strip(), place
        if "properties" in node:
            assert node["additionalProperties"] is False, place
        elif node.get("type") == "object":
            assert isinstance(node["additionalProperties"], dict), place


@pytest.mark.requirement("history.lax", "files.tolerated")
def test_reading_schema_allows_unknown_fields() -> None:
    """The schema for reading allows unknown fields, blank texts and odd optional values, and nothing else."""
    lax = schemas.readable("state/plan")
    odd = {
        "id": 1,
        "topic": "",
        "issues": [{"id": 2.0, "title": "", "status": "pending", "decision": 5}],
        "created_at": "",
        "x": 1,
    }
    assert schemas.faults(lax, {**odd, "research_summary": None, "schema_version": 7}) == []
    for member in ("id", "topic", "issues", "created_at"):
        assert schemas.faults(lax, {key: value for key, value in odd.items() if key != member})
