"""plan_decide records the decision of an issue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Project, issue, plan, pretty


@pytest.mark.requirement("plan_decide.writes", "plan_decide.remaining")
def test_decide_one_of_two(call: Client, project: Project) -> None:
    """The answer lists the remaining issues."""
    project.put(
        "state/plan.json", plan(issues=[issue(1, "One"), issue(2, "Two"), issue(3, "Three", "decided", decision="")])
    )
    assert call("plan_decide", issue_id=2, decision="Yes") == {
        "decided": True,
        "issue": "Two",
        "allComplete": False,
        "remaining": [{"id": 1, "title": "One", "status": "pending"}],
    }
    assert project.get("state/plan.json") == pretty(
        plan(
            issues=[
                issue(1, "One"),
                issue(2, "Two", "decided", decision="Yes"),
                issue(3, "Three", "decided", decision=""),
            ]
        )
    )


@pytest.mark.requirement("plan_decide.complete")
def test_last_decision_answers_with_the_next_step(call: Client, project: Project) -> None:
    """After the last decision the answer names the next step."""
    project.put("state/plan.json", plan(issues=[issue(1, "One")]))
    answer = call("plan_decide", issue_id=1, decision="Yes")
    message = answer.pop("message")
    assert answer == {"decided": True, "issue": "One", "allComplete": True}
    assert "task_add" in message


@pytest.mark.requirement("plan_decide.remaining")
def test_remaining_has_three_keys(call: Client, project: Project) -> None:
    """Remaining issues have id, title and status only."""
    project.put(
        "state/plan.json", plan(issues=[issue(1, "One", how_agents=["a"], x=1), issue(2.0, "Two", y=1), issue(3, "3")])
    )
    answer = call("plan_decide", issue_id=3, decision="Yes")
    assert answer["remaining"] == [issue(1, "One"), issue(2, "Two")]
    assert all(isinstance(item["id"], int) for item in answer["remaining"])


HOWS: list[dict[str, Any]] = [
    {"how_agents": ["architect", "", "architect"]},
    {"how_agents": []},
    {"how_summary": {"architect": "Fine", "": "", "ü": "é"}},
    {"how_summary": {}},
    {"how_agent_ids": {"architect": "agent-1"}},
    {"how_agents": ["b", "a"], "how_summary": {"b": "1", "a": "2"}, "how_agent_ids": {"b": "", "a": "x"}},
]


@pytest.mark.requirement("plan_decide.how", "plan_decide.empty", "files.key-order", "plan.how-types")
@pytest.mark.parametrize("how", HOWS)
def test_how_fields_are_written_as_given(call: Client, project: Project, how: dict[str, Any]) -> None:
    """Each how_ field is written unchanged, and only if the call has it."""
    project.put("state/plan.json", plan(issues=[issue(1, "One")]))
    call("plan_decide", issue_id=1, decision="Yes", **how)
    assert project.get("state/plan.json") == pretty(plan(issues=[issue(1, "One", "decided", decision="Yes", **how)]))


@pytest.mark.requirement("plan_decide.how", "calls.null-optional", "files.absent")
def test_null_how_fields_are_absent(call: Client, project: Project) -> None:
    """Null for a how_ field leaves it out."""
    project.put("state/plan.json", plan(issues=[issue(1, "One")]))
    call("plan_decide", issue_id=1, decision="Yes", how_agents=None, how_summary=None, how_agent_ids=None)
    assert project.get("state/plan.json") == pretty(plan(issues=[issue(1, "One", "decided", decision="Yes")]))


@pytest.mark.requirement("plan_decide.again", "plan_decide.how")
def test_second_decision_replaces_the_first(call: Client, project: Project) -> None:
    """The decision is replaced; a how_ field that the second call lacks stays."""
    before = issue(1, "One", "decided", decision="Old", how_agents=["a"], how_summary={"a": "x"}, note=1)
    project.put("state/plan.json", plan(issues=[before]))
    call("plan_decide", issue_id=1, decision="New", how_agents=["b"])
    after = issue(1, "One", "decided", decision="New", how_agents=["b"], how_summary={"a": "x"}, note=1)
    assert project.get("state/plan.json") == pretty(plan(issues=[after]))


@pytest.mark.requirement("plan_decide.empty")
@pytest.mark.parametrize("decision", ["", " ", "a\nb", "漢字 😀"])
def test_any_text_is_a_decision(call: Client, project: Project, decision: str) -> None:
    """A decision may be empty, and is written unchanged."""
    project.put("state/plan.json", plan())
    call("plan_decide", issue_id=1, decision=decision)
    assert project.json("state/plan.json")["issues"] == [issue(1, "First", "decided", decision=decision)]


@pytest.mark.requirement("plan_decide.no-plan")
def test_decision_without_plan_is_refused(call: Client, project: Project) -> None:
    """A decision needs a plan."""
    assert call.error("plan_decide", issue_id=1, decision="Yes") == "No active plan session"
    assert not project.nexus.exists()


@pytest.mark.requirement("plan_decide.not-found", "calls.ids", "calls.number-text")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (2, "2"), (3.0, "3"), ("4", "4"), ("5.0", "5"), ("6e0", "6"), (2**64, str(2**64)),
    ],
)  # fmt: skip
def test_unknown_issue_is_refused(call: Client, project: Project, given: Any, told: str) -> None:
    """The error has the unknown id as an integer."""
    project.put("state/plan.json", plan())
    assert call.error("plan_decide", issue_id=given, decision="Yes") == f"Issue {told} not found"


@pytest.mark.requirement("calls.ids", "calls.number-text", "files.ids")
@pytest.mark.parametrize("given", [2, 2.0, "2", "2.0", "2e0", "20e-1"])
@pytest.mark.parametrize("stored", [2, 2.0])
def test_fractional_spelling_names_the_same_issue(call: Client, project: Project, given: Any, stored: Any) -> None:
    """2 and 2.0 are one id, in the call and in the file."""
    project.put("state/plan.json", plan(issues=[issue(1, "One"), issue(stored, "Two")]))
    assert call("plan_decide", issue_id=given, decision="Yes")["issue"] == "Two"


@pytest.mark.requirement("calls.missing", "calls.null-required")
def test_both_parameters_are_required(call: Client) -> None:
    """Both parameters are required; null is missing."""
    assert call.error("plan_decide") == "issue_id is required; decision is required"
    assert call.error("plan_decide", issue_id=None, decision="d") == "issue_id is required"
    assert call.error("plan_decide", issue_id=1) == "decision is required"


@pytest.mark.requirement("calls.types", "calls.joined")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"how_agents": "architect"}, ["how_agents"]),
        ({"how_agents": [1]}, ["how_agents"]),
        ({"how_agents": {"a": "b"}}, ["how_agents"]),
        ({"how_summary": ["a"]}, ["how_summary"]),
        ({"how_summary": {"a": 1}}, ["how_summary"]),
        ({"how_summary": {"a": None}}, ["how_summary"]),
        ({"how_agent_ids": {"a": ["x"]}}, ["how_agent_ids"]),
        ({"decision": 5}, ["decision"]),
        ({"issue_id": "x", "decision": {}, "how_agents": 1}, ["issue_id", "decision", "how_agents"]),
    ],
)
def test_wrong_types_are_reported_together(
    call: Client, project: Project, arguments: dict[str, Any], names: list[str]
) -> None:
    """Every parameter of a wrong type is named, all in one message."""
    project.put("state/plan.json", plan())
    message = call.error("plan_decide", **{"issue_id": 1, "decision": "d", **arguments})
    faults = message.split("; ")
    assert len(faults) >= len(names)
    assert all(any(name in fault for fault in faults) for name in names)


@pytest.mark.requirement("calls.json-text")
def test_lists_may_arrive_as_json_text(call: Client, project: Project) -> None:
    """Lists and objects may arrive as their JSON text."""
    project.put("state/plan.json", plan())
    call(
        "plan_decide",
        issue_id=1,
        decision="d",
        how_agents=' ["a"] ',
        how_summary='{"a": "x"}',
        how_agent_ids='{"a":"\\u00e9"}',
    )
    how = {"how_agents": ["a"], "how_summary": {"a": "x"}, "how_agent_ids": {"a": "é"}}
    assert project.json("state/plan.json")["issues"] == [issue(1, "First", "decided", decision="d", **how)]


@pytest.mark.requirement("calls.json-text")
def test_a_text_parameter_stays_text(call: Client, project: Project) -> None:
    """JSON text for a text parameter is just text."""
    project.put("state/plan.json", plan())
    call("plan_decide", issue_id=1, decision='["not", "parsed"]')
    assert project.json("state/plan.json")["issues"][0]["decision"] == '["not", "parsed"]'
