"""plan_update adds, removes, renames and reopens issues."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.server.app import App
from tests.support import Client, Project, issue, plan, pretty

HOW: dict[str, Any] = {"how_agents": ["a"], "how_summary": {"a": "says"}, "how_agent_ids": {"a": "1"}}


def three() -> Any:
    return plan(
        2,
        "T",
        [issue(1, "One"), issue(4, "Four", "decided", decision="Yes", **HOW), issue(3, "Three")],
        created_at="then",
    )


@pytest.mark.requirement("plan_update.add", "plan_update.next-id", "files.key-order")
def test_added_issue_is_last_and_pending(call: Client, project: Project) -> None:
    """A new issue comes last, pending, with the highest id plus one."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="add", title=" New ") == {
        "added": True,
        "issue": {"id": 5, "title": " New ", "status": "pending"},
    }
    expected = three()
    expected["issues"].append(issue(5, " New "))
    assert project.get("state/plan.json") == pretty(expected)


@pytest.mark.requirement("plan_update.next-id")
def test_first_issue_of_an_empty_plan_is_number_1(call: Client, project: Project) -> None:
    """The first issue of an empty plan is number 1."""
    project.put("state/plan.json", plan(issues=[]))
    assert call("plan_update", action="add", title="A")["issue"]["id"] == 1


@pytest.mark.requirement("plan_update.remove")
def test_removed_issue_leaves_other_ids(call: Client, project: Project) -> None:
    """The others keep their ids and their order."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="remove", issue_id=1) == {"removed": True, "issue": {"id": 1}}
    expected = three()
    del expected["issues"][0]
    assert project.get("state/plan.json") == pretty(expected)


@pytest.mark.requirement("plan_update.remove", "plan_update.next-id")
def test_id_of_a_removed_highest_issue_is_used_again(call: Client, project: Project) -> None:
    """The highest id is that of the present issues."""
    project.put("state/plan.json", three())
    call("plan_update", action="remove", issue_id=4)
    assert call("plan_update", action="add", title="A")["issue"]["id"] == 4


@pytest.mark.requirement("plan_update.edit")
def test_edit_changes_only_the_title(call: Client, project: Project) -> None:
    """Only the title changes; a decided issue stays decided."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="edit", issue_id=4, title="IV") == {
        "edited": True,
        "issue": {"id": 4, "title": "IV"},
    }
    expected = three()
    expected["issues"][1]["title"] = "IV"
    assert project.get("state/plan.json") == pretty(expected)


@pytest.mark.requirement("plan_update.reopen", "plan_update.reopen-keeps")
def test_reopen_drops_the_decision(call: Client, project: Project) -> None:
    """The decision is removed, the how_ fields stay."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="reopen", issue_id=4) == {
        "reopened": True,
        "issue": {"id": 4, "title": "Four", "status": "pending"},
    }
    expected = three()
    expected["issues"][1] = issue(4, "Four", **HOW)
    assert project.get("state/plan.json") == pretty(expected)


@pytest.mark.requirement("plan_update.reopen")
def test_reopening_a_pending_issue_changes_nothing(call: Client, project: Project) -> None:
    """Reopening a pending issue changes nothing and is no error."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="reopen", issue_id=3)["issue"] == issue(3, "Three")
    assert project.get("state/plan.json") == pretty(three())


@pytest.mark.requirement("plan_update.no-plan", "plan_update.error-order", "plan_update.enum")
@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "add", "title": "A"},
        {"action": "explode"},
        {"action": "add"},
        {"action": "remove", "issue_id": 1},
        {"action": "remove"},
        {"action": "edit"},
        {"action": "reopen", "issue_id": 7},
    ],
)
def test_update_without_plan_is_refused_first(call: Client, project: Project, arguments: dict[str, Any]) -> None:
    """A missing plan is reported before any fault of the action; no file is created."""
    assert call.error("plan_update", **arguments) == "No active plan session"
    assert not project.nexus.exists()


@pytest.mark.requirement(
    "plan_update.unknown-action", "plan_update.needs-title", "plan_update.needs-id", "plan_update.edit-needs",
    "plan_update.not-found", "plan_update.error-order", "plan_update.enum", "plan_update.blank-title",
)  # fmt: skip
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "explode"}, "Unknown action"),
        ({"action": ""}, "Unknown action"),
        ({"action": "ADD", "title": "A"}, "Unknown action"),
        ({"action": " add", "title": "A"}, "Unknown action"),
        ({"action": "add"}, "title is required for add"),
        ({"action": "add", "title": None}, "title is required for add"),
        ({"action": "add", "title": ""}, "title is required for add"),
        ({"action": "add", "title": " \t\u00a0"}, "title is required for add"),
        ({"action": "add", "issue_id": 99}, "title is required for add"),
        ({"action": "remove"}, "issue_id is required for remove"),
        ({"action": "remove", "issue_id": None, "title": "A"}, "issue_id is required for remove"),
        ({"action": "reopen"}, "issue_id is required for reopen"),
        ({"action": "edit"}, "issue_id and title are required for edit"),
        ({"action": "edit", "issue_id": 99}, "issue_id and title are required for edit"),
        ({"action": "edit", "issue_id": 1, "title": "  "}, "issue_id and title are required for edit"),
        ({"action": "edit", "title": "A"}, "issue_id and title are required for edit"),
        ({"action": "remove", "issue_id": 2}, "Issue 2 not found"),
        ({"action": "remove", "issue_id": 2.0}, "Issue 2 not found"),
        ({"action": "remove", "issue_id": "2"}, "Issue 2 not found"),
        ({"action": "edit", "issue_id": 99, "title": "A"}, "Issue 99 not found"),
        ({"action": "reopen", "issue_id": 2**64}, f"Issue {2**64} not found"),
    ],
)
def test_error_messages_are_exact(call: Client, project: Project, arguments: dict[str, Any], message: str) -> None:
    """Each error word for word, the earlier one when several apply."""
    project.put("state/plan.json", three())
    assert call.error("plan_update", **arguments) == message


@pytest.mark.requirement("plan_update.ignored")
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"action": "add", "title": "A", "issue_id": 77}, {"added": True, "issue": issue(5, "A")}),
        ({"action": "remove", "issue_id": 1, "title": "A"}, {"removed": True, "issue": {"id": 1}}),
        ({"action": "remove", "issue_id": 1, "title": ""}, {"removed": True, "issue": {"id": 1}}),
        ({"action": "reopen", "issue_id": 1, "title": " "}, {"reopened": True, "issue": issue(1, "One")}),
    ],
)
def test_unused_parameter_changes_nothing(
    call: Client, project: Project, arguments: dict[str, Any], answer: Any
) -> None:
    """A parameter that the action has no use for changes nothing."""
    project.put("state/plan.json", three())
    assert call("plan_update", **arguments) == answer


@pytest.mark.requirement("plan_update.ignored", "calls.types", "calls.order")
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"action": "add", "title": "A", "issue_id": "two"}, "issue_id"),
        ({"action": "add", "title": "A", "issue_id": True}, "issue_id"),
        ({"action": "add", "title": "A", "issue_id": 0}, "issue_id"),
        ({"action": "remove", "issue_id": 1, "title": 5}, "title"),
        ({"action": "remove", "issue_id": 1, "title": ["A"]}, "title"),
        ({"action": 5}, "action"),
        ({"action": ["add"]}, "action"),
    ],
)
def test_unused_parameters_have_their_type(call: Client, arguments: dict[str, Any], name: str) -> None:
    """A wrong type is reported even for a parameter that the action ignores, and before a missing plan."""
    message = call.error("plan_update", **arguments)
    assert name in message
    assert message != "No active plan session"


@pytest.mark.requirement("calls.missing")
def test_action_is_required(call: Client) -> None:
    """A missing action is reported, with and without a plan."""
    assert call.error("plan_update") == "action is required"
    assert call.error("plan_update", action=None, title="A") == "action is required"


@pytest.mark.requirement("plan_update.enum", "calls.schema-plain")
def test_the_actions_are_advertised(app: App) -> None:
    """The input schema lists the four actions."""
    schema = next(tool for tool in app.tools() if tool["name"] == "plan_update")["inputSchema"]
    assert schema["properties"]["action"]["enum"] == ["add", "remove", "edit", "reopen"]
    assert schema["required"] == ["action"]
