"""The faults that lint reports in fixtures that can be loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.lint import lint
from tests.conformance.fixture_files import raw, stepped, write

CALL: dict[str, Any] = {"action": {"tool": "task_list"}}


def lane(**members: Any) -> dict[str, Any]:
    return stepped({"parallel": [[{**CALL, **members}], [CALL]]})


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        (raw(postcondition={}), ["has no assertion that can fail"]),
        (raw(postcondition={"return_value": {}, "state_files": {}, "unchanged": []}), [
            "has no assertion that can fail"
        ]),
        (stepped(CALL, {"restart": True}), ["has no assertion that can fail"]),
        (lane(), ["has no assertion that can fail"]),
        (lane(assert_error=True), []),
        (raw(postcondition={"error": False}), []),
        (raw(postcondition={"error_contains": "x"}), []),
        (raw(postcondition={"unchanged": True}), []),
        (raw(postcondition={"state_files": {"a": None}}), []),
        (stepped({**CALL, "assert_unchanged": ["a"]}), []),
        (raw(covers={"state_schemas": {"plan.schema.json": ["topic", "tpic", "issuez[]", "zzz"]}}), [
            "/covers/state_schemas/plan.schema.json/1: tpic is not in this schema; did you mean topic?",
            "/covers/state_schemas/plan.schema.json/2: issuez[] is not in this schema; "
            "did you mean issues[].id or issues?",
            "/covers/state_schemas/plan.schema.json/3: zzz is not in this schema; "
            "known: schema_version, id, topic, issues, issues[].id, issues[].title, issues[].status, "
            "issues[].decision, issues[].how_agents, issues[].how_summary, issues[].how_agent_ids, "
            "research_summary, created_at",
        ]),
        (raw(covers={"return_value": {"task_list": ["x"], "tasks_list": ["x"]}}), [
            "/covers/return_value/tasks_list: is not called by this fixture; did you mean task_list?"
        ]),
        (raw(test_id=5), ["/test_id: must be of type string"]),
    ],
)  # fmt: skip
def test_lint_reports_fixtures_without_assertions(tmp_path: Path, document: dict[str, Any], faults: list[str]) -> None:
    """lint reports a fixture without an assertion and an unknown name in `covers`, besides every fault of loading."""
    path = write(tmp_path / "a.json", document)
    assert lint([path]) == [f"{path}: {fault}" for fault in faults]


def test_faults_in_a_list_are_reported_with_their_place(tmp_path: Path) -> None:
    """A fault in a file of many fixtures has the fixture's place; faults that prevent loading come first."""
    documents = [
        raw(test_id="a", postcondition={}),
        raw(test_id="b", x=1),
        raw(test_id="c", covers={"return_value": {"y": []}}),
    ]
    path = write(tmp_path / "a.json", documents)
    first, *others = lint([str(tmp_path), str(tmp_path / "b")])
    assert first.startswith(f"{path}: /1/x: is not a known field")
    assert others == [
        f"{tmp_path}/b: no such file or folder",
        f"{path}: /0: has no assertion that can fail",
        f"{path}: /2/covers/return_value/y: is not called by this fixture; known: task_list",
    ]


def asking(test_id: str, *tools: str, **members: Any) -> dict[str, Any]:
    steps = ({"action": {"tool": tool}, "assert_return": {"$.a": 1}} for tool in tools)
    return stepped(*steps, test_id=test_id, **members)


def test_mistyped_tool_is_reported(tmp_path: Path) -> None:
    """A tool or event that only one fixture calls, and whose name is almost that of another, is reported; other names
    are not.
    """
    path = write(
        tmp_path / "a.json",
        [
            asking("a", "plan_status", "plan_start", "task_list"),
            asking("b", "plan_start", "plan_status", "plan_statu", "task_add"),
            stepped({"event": {"type": "plan_statuss"}, "assert_state": {"x": None}}, test_id="c"),
            stepped({"event": {"type": "agent_span"}, "assert_state": {"x": None}}, test_id="d"),
            *(stepped({"event": {"type": "agent_spawn"}, "assert_state": {"x": {}}}, test_id=x) for x in ("e", "f")),
        ],
    )
    assert lint([path]) == [
        f"{path}: /1: plan_statu is not called by any other fixture; did you mean plan_status or plan_start?",
        f"{path}: /3: event agent_span is not called by any other fixture; did you mean event agent_spawn?",
    ]


def test_mistyped_file_is_reported(tmp_path: Path) -> None:
    """A path in .nexus that is almost the name of a state file is reported, wherever it stands; names of artifacts are
    free.
    """
    state_files = {"{STATE_ROOT}/task.json": None, "{STATE_ROOT}/artifacts/plans.json": None, "plans.json": None}
    path = write(
        tmp_path / "a.json",
        stepped(
            {"action": {"tool": "a"}, "assert_state": {"{STATE_ROOT}/plan.json": None, ".nexus/histroy.json": {}}},
            {
                "write_file": {"path": "{STATE_ROOT}/x/agent_tracker.json", "text": ""},
                "assert_unchanged": ["{STATE_ROOT}"],
            },
            precondition={"state_files": {"{STATE_ROOT}/plans.json": {}}},
            postcondition={"state_files": state_files, "unchanged": ["{STATE_ROOT}/x/memory-access.json"]},
        ),
    )
    assert lint([path]) == [
        f"{path}: {{STATE_ROOT}}/plans.json is not a known state file; did you mean plan.json?",
        f"{path}: {{STATE_ROOT}}/x/agent_tracker.json is not a known state file; did you mean agent-tracker.json?",
        f"{path}: .nexus/histroy.json is not a known state file; did you mean history.json?",
        f"{path}: {{STATE_ROOT}}/task.json is not a known state file; did you mean tasks.json?",
        f"{path}: {{STATE_ROOT}}/x/memory-access.json is not a known state file; did you mean memory-access.jsonl?",
    ]


def test_packaged_fixtures_have_no_fault() -> None:
    """The packaged fixtures have no fault."""
    assert lint() == []
