"""The claims of a suite, the fields that its assertions touch, and the gaps between the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.authoring.claims import (
    asserted_parameters,
    fields_of,
    schema_of,
    state_schemas,
    touched_fields,
    touched_members,
)
from nexus_mcp.conformance.lint import Coverage, Gap, coverage
from tests.conformance.fixture_files import GONE, loaded, raw, stepped
from tests.conformance.suite import packaged

HISTORY = ".nexus/history.json"
PLAN = "{STATE_ROOT}/plan.json"
ACCESS = "{STATE_ROOT}/{HARNESS_ID}/memory-access.jsonl"


def test_fields_are_read_from_their_own_schema() -> None:
    """The fields of a schema are read from it, without those of another file that it refers to."""
    assert fields_of("cycle.schema.json") == ("schema_version", "completed_at", "branch", "plan", "tasks")
    assert fields_of("history.schema.json") == ("schema_version", "cycles")
    assert fields_of("plan.schema.json")[3:7] == ("issues", "issues[].id", "issues[].title", "issues[].status")
    assert fields_of("agent-tracker.schema.json")[:2] == ("[].harness_id", "[].started_at")
    assert all(fields_of(name) for name in state_schemas())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (PLAN, "plan"),
        (".nexus/state/tasks.json", "tasks"),
        (HISTORY, "history"),
        ("{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json", "agent-tracker"),
        (ACCESS, "memory-access"),
        ("plan.json", ""),
        (".nexus/state/artifacts/plan.json", ""),
        (".nexus/state/tool-log.jsonl", "tool-log"),
    ],
)
def test_state_files_have_the_schema_of_their_name(path: str, name: str) -> None:
    """A state file has the schema of its name; a file elsewhere has none."""
    assert schema_of(path) == (f"{name}.schema.json" if name else "")


@pytest.mark.parametrize(
    ("path", "query", "expected", "fields"),
    [
        (PLAN, "$.topic", "x", {"plan topic"}),
        (PLAN, "$['issues'][0].title", "x", {"plan issues", "plan issues[].title"}),
        (PLAN, "$.issues.length", 2, {"plan issues"}),
        (PLAN, "$.issues", [], {"plan issues"}),
        (PLAN, "$.issues[-1]", {"type": "object"}, {"plan issues"}),
        (PLAN, "$.issues[0].how_summary.ann", "x", {"plan issues", "plan issues[].how_summary"}),
        (PLAN, "$", {"keys": ["id", "odd"]}, {"plan id"}),
        (PLAN, "$.issues", [{"keys": ["id"]}, 1], {"plan issues", "plan issues[].id"}),
        (PLAN, "$.odd.topic", "x", set()),
        (PLAN, "$.topic", None, set()),
        (PLAN, "$.issues[0].decision", None, set()),
        (PLAN, "$.issues", [None], {"plan issues"}),
        (HISTORY, "$.cycles[0].plan.topic", None, set()),
        (HISTORY, "$.cycles[0].branch", None, set()),
        (PLAN, "$[0].topic", None, set()),
        (HISTORY, "$.cycles[0].plan.topic", "x", {"history cycles", "cycle plan", "plan topic"}),
        (HISTORY, "$.cycles[0].plan", None, {"history cycles", "cycle plan"}),
        (HISTORY, "$.cycles[0].tasks[1].deps[0]", 1,
         {"history cycles", "cycle tasks", "tasks tasks[].deps"}),
        (HISTORY, "$.cycles[0].plan.issues[0]", {"keys": ["title"]},
         {"history cycles", "cycle plan", "plan issues", "plan issues[].title"}),
        ("{STATE_ROOT}/x/agent-tracker.json", "$[0].agent_id", "x", {"agent-tracker [].agent_id"}),
        ("{STATE_ROOT}/x/agent-tracker.json", "$.length", 1, set()),
        (ACCESS, "$[0].path", "x", {"memory-access path"}),
        (ACCESS, "$[0]", {"keys": ["path", "last_agent"]}, {"memory-access path", "memory-access last_agent"}),
        ("notes.json", "$.topic", "x", set()),
    ],
)  # fmt: skip
def test_assertion_touches_fields_on_its_path(path: str, query: str, expected: Any, fields: set[str]) -> None:
    """An assertion touches the fields on its path, through references, and the fields that `keys` names."""
    found = {f"{name.removesuffix('.schema.json')} {field}" for name, field in touched_fields(path, query, expected)}
    assert found == fields


def test_response_assertion_touches_fields_on_its_path() -> None:
    """An assertion on an answer touches every field on its path."""
    assert touched_members("$.issues[2].status", "x") == {"issues", "issues[]", "issues[].status"}
    assert touched_members("$.issues.length", 1) == {"issues"}
    assert touched_members("$.issues[2].status", None) == set()
    assert touched_members("$.a", [None]) == {"a"}
    assert touched_members("$", {"keys": ["a", "b"]}) == {"a", "b"}
    assert touched_members("$.a", [1, {"keys": ["b"]}]) == {"a", "a[]", "a[].b"}


def with_params(params: dict[str, Any], **members: Any) -> dict[str, Any]:
    return raw(action={"tool": "t", "params": params}, **members)


def post(**members: Any) -> dict[str, Any]:
    return {"postcondition": members}


@pytest.mark.parametrize(
    ("params", "members", "names"),
    [
        ({"title": "A"}, post(return_value={"$.task.title": "B"}), {"title"}),
        ({"title": "A"}, post(return_value={"$.titles": "B"}), set()),
        ({"title": "A"}, post(return_value={"$.x": "A"}), {"title"}),
        ({"title": "A"}, post(return_value={"$.x": "Aa"}), set()),
        ({"title": "Abc"}, post(return_value={"$.x": "Abcd", "$.y": "xAbc"}), set()),
        ({"title": "Abc"}, post(return_value={"$.x": "the Abc."}), {"title"}),
        ({"title": "Abc"}, post(return_value={"$.x": {"type": "string", "pattern": "Abcd"}}), set()),
        ({"title": "A b"}, post(result={"$.content[0].title": "A b"}), set()),
        ({"title": "Abc"}, post(state_files={"a": {"text": "# Abc\n"}}), {"title"}),
        ({"title": "A.b"}, post(return_value={"$.x": {"type": "string", "pattern": r"^A\.b$"}}), {"title"}),
        ({"issues": ["A", "B"]}, post(return_value={"$.x": [1, "B"]}), {"issues"}),
        ({"names": {"a": "B"}}, post(return_value={"$.x": "B"}), {"names"}),
        ({"id": 7}, post(return_value={"$.x": 7.0}), {"id"}),
        ({"id": 7}, post(return_value={"$.x.length": 7}), set()),
        ({"id": "7"}, post(return_value={"$.x": 7}), {"id"}),
        ({"n": 1, "m": 0, "b": True, "e": " ", "z": None},
         post(return_value={"$.x": [1, 0, True, " ", None]}), set()),
        ({"issue_id": 1}, post(return_value={"$.issue.id": 1}), {"issue_id"}),
        ({"issue_id": 1}, post(return_value={"$.issue.id": 2, "$.issue.xid": 1}), set()),
        ({"issue_id": 1}, post(return_value={"$.issue.id": {"type": "number"}}), set()),
        ({"id": 1}, post(error_contains="Issue 1 not found"), {"id"}),
        ({"id": 1}, post(error_contains="Issue 12 not found"), set()),
        ({"issue_id": 1}, post(error_contains="issue_id is required for remove"), {"issue_id"}),
        ({"id": 1}, post(error_contains="issue_id is required"), set()),
        ({"odd": 1}, post(return_value={"$.error": {"type": "string", "pattern": r"\bodd\b"}}), {"odd"}),
        ({"filename": "a/b.md"}, post(state_files={"x/a/b.md": {}}), {"filename"}),
        ({"filename": "b.md"}, post(state_files={"x/ab.md": {}}), set()),
        ({"filename": "b.md"}, post(unchanged=["x/b.md"]), set()),
    ],
)  # fmt: skip
def test_parameter_is_asserted_by_name_value_or_path(
    tmp_path: Path, params: Any, members: Any, names: set[str]
) -> None:
    """A parameter is asserted by its name in a path, a distinctive value, a file's path or an error's message."""
    (fixture,) = loaded(tmp_path, with_params(params, **members))
    assert asserted_parameters(fixture) == names


def test_parameters_of_events_and_lanes_are_counted(tmp_path: Path) -> None:
    """The parameters of events, lanes and kills count, and so do the assertions in lanes."""
    (event, lanes) = loaded(
        tmp_path,
        raw(test_id="event", action=GONE, event={"type": "x", "params": {"harness_id": "me", "agent_name": "a"}},
            postcondition={"state_files": {"{STATE_ROOT}/{HARNESS_ID}/x": {}}}),
        stepped({"parallel": [[{"action": {"tool": "a", "params": {"p": 5}}, "assert_return": {"$.a": 5}}],
                              [{"action": {"tool": "a", "params": {"q": 5.5}}}]]},
                {"kill": {"action": {"tool": "b", "params": {"r": 6}}, "seed": 1, "retry": True}}, test_id="lanes",
                postcondition={"return_value": {"$.c": 6}}),
    )  # fmt: skip
    assert asserted_parameters(event) == {"harness_id"}
    assert asserted_parameters(lanes) == {"p", "r"}
    assert coverage([event, lanes]).having("unasserted") == (
        Gap("unasserted", "agent_name", "event", event.source),
        Gap("unasserted", "q", "lanes", lanes.source),
    )


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ({"postcondition": {"return_value": {"$.x": "Abc"}}}, {"other"}),
        ({"postcondition": {"error_contains": "no Abc"}}, {"other"}),
        ({"postcondition": {"return_value": {"$.title": 1}}}, {"title"}),
        ({"postcondition": {"state_files": {"a": {"$.x": "Abc"}}}}, {"title", "other"}),
    ],
)
def test_value_in_the_answer_to_another_call_does_not_count(tmp_path: Path, members: Any, names: set[str]) -> None:
    """A value counts in the answer of its own call and in files; in the answer to another call it may be another's."""
    first, last = ({"action": {"tool": "t", "params": {name: "Abc"}}} for name in ("title", "other"))
    (fixture,) = loaded(tmp_path, stepped(first, last, {"restart": True}, **members))
    assert asserted_parameters(fixture) == names


def test_gaps_are_reported_by_fixture_and_name(tmp_path: Path) -> None:
    """Untouched claims, unasserted parameters and stale exceptions are reported by fixture and name."""
    (fixture,) = loaded(
        tmp_path,
        with_params(
            {"topic": "Tea", "issues": ["x y"], "note": "z"},
            covers={
                "state_schemas": {"plan.schema.json": ["topic", "created_at"], "history.schema.json": ["cycles"]},
                "return_value": {"t": ["topic", "plan_id"], "other": ["topic"]},
            },
            uncovered_params=["issues", "topic", "gone"],
            postcondition={"return_value": {"$.topic": "Tea"}, "state_files": {PLAN: {"$.topic": "Tea"}, HISTORY: {}}},
        ),
    )
    found = coverage([fixture])
    assert [(gap.kind, gap.field) for gap in found.gaps if gap.fixture] == [
        ("untouched", "plan.schema.json created_at"),
        ("untouched", "history.schema.json cycles"),
        ("untouched", "t plan_id"),
        ("untouched", "other topic"),
        ("unasserted", "note"),
        ("stale", "topic"),
        ("stale", "gone"),
    ]
    assert {gap.fixture for gap in found.gaps} == {"", "one"}
    assert (found.parameters, found.claimed) == (3, 6)
    assert found.claims["plan.schema.json topic"] == ("one",)
    assert found.claims["history.schema.json cycles"] == ()
    assert str(found.having("stale")[0]) == f"{fixture.source}: one: topic"


def test_answer_assertions_count_for_the_tool_of_their_step(tmp_path: Path) -> None:
    """An assertion on an answer counts for the tool of its step; the postcondition counts for the last tool."""
    (fixture,) = loaded(
        tmp_path,
        stepped({"action": {"tool": "a"}, "assert_return": {"$.x": 1}}, {"event": {"type": "e"}},
                {"kill": {"action": {"tool": "b"}, "seed": 1, "retry": True}}, {"restart": True},
                covers={"return_value": {"a": ["x", "y"], "b": ["x", "y"]}},
                postcondition={"return_value": {"$.y": 1}}),
    )  # fmt: skip
    assert [gap.field for gap in coverage([fixture]).having("untouched")] == ["a y", "b x"]


def test_empty_suite_claims_nothing() -> None:
    """Without fixtures every field of every state schema is unclaimed."""
    every = [f"{name} {field}" for name in state_schemas() for field in fields_of(name)]
    found = coverage([])
    assert found == Coverage(dict.fromkeys(every, ()), 0, 0, tuple(Gap("unclaimed", field) for field in every))


def test_our_own_fixtures_leave_no_gap() -> None:
    """Every claim of the shipped fixtures is touched, and every parameter is asserted or listed as uncovered."""
    assert [str(gap) for gap in coverage(packaged()).gaps] == []
