"""plan_update: issues come, go, are renamed and reopened."""

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
def test_add(call: Client, project: Project) -> None:
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
def test_add_to_no_issues(call: Client, project: Project) -> None:
    """The first issue of an empty plan is number 1."""
    project.put("state/plan.json", plan(issues=[]))
    assert call("plan_update", action="add", title="A")["issue"]["id"] == 1


@pytest.mark.requirement("plan_update.remove")
def test_remove(call: Client, project: Project) -> None:
    """The others keep their ids and their order."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="remove", issue_id=1) == {"removed": True, "issue": {"id": 1}}
    expected = three()
    del expected["issues"][0]
    assert project.get("state/plan.json") == pretty(expected)


@pytest.mark.requirement("plan_update.remove", "plan_update.next-id")
def test_remove_the_highest_then_add(call: Client, project: Project) -> None:
    """The highest id is that of the issues that are there."""
    project.put("state/plan.json", three())
    call("plan_update", action="remove", issue_id=4)
    assert call("plan_update", action="add", title="A")["issue"]["id"] == 4


@pytest.mark.requirement("plan_update.edit")
def test_edit(call: Client, project: Project) -> None:
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
def test_reopen(call: Client, project: Project) -> None:
    """The decision goes, the how_ fields stay."""
    project.put("state/plan.json", three())
    assert call("plan_update", action="reopen", issue_id=4) == {
        "reopened": True,
        "issue": {"id": 4, "title": "Four", "status": "pending"},
    }
    expected = three()
    expected["issues"][1] = issue(4, "Four", **HOW)
    assert project.get("state/plan.json") == pretty(expected)


@pytest.mark.requirement("plan_update.reopen")
def test_reopen_a_pending_issue(call: Client, project: Project) -> None:
    """Reopening what is open changes nothing and is no error."""
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
def test_no_plan(call: Client, project: Project, arguments: dict[str, Any]) -> None:
    """That there is no plan is told before anything about the action; nothing is created."""
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
def test_errors(call: Client, project: Project, arguments: dict[str, Any], message: str) -> None:
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
def test_unused_parameters(call: Client, project: Project, arguments: dict[str, Any], answer: Any) -> None:
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
    """A wrong type is told even of a parameter that the action ignores, and before there is a plan."""
    message = call.error("plan_update", **arguments)
    assert name in message
    assert message != "No active plan session"


@pytest.mark.requirement("calls.missing")
def test_action_is_required(call: Client) -> None:
    """Without an action the call says so, plan or no plan."""
    assert call.error("plan_update") == "action is required"
    assert call.error("plan_update", action=None, title="A") == "action is required"


@pytest.mark.requirement("plan_update.enum", "calls.schema-plain")
def test_the_actions_are_advertised(app: App) -> None:
    """The input schema lists the four actions."""
    schema = next(tool for tool in app.tools() if tool["name"] == "plan_update")["inputSchema"]
    assert schema["properties"]["action"]["enum"] == ["add", "remove", "edit", "reopen"]
    assert schema["required"] == ["action"]


@pytest.mark.requirement(
    "files.unknown-kept", "files.unknown-last", "files.bom", "files.version-kept", "files.key-order",
)  # fmt: skip
@pytest.mark.parametrize(
    "arguments",
    [{"action": "edit", "issue_id": 2, "title": "New"}, {"action": "add", "title": "New"}],
)
def test_a_foreign_file_is_rewritten(call: Client, project: Project, arguments: dict[str, Any]) -> None:
    """Known keys come first in schema order, unknown ones after; the byte order mark is dropped."""
    stored = {
        "x_first": {"b": 1, "a": [None, 1.5]},
        "created_at": "2020-01-01T00:00:00.000Z",
        "issues": [
            {"note": "ü", "how_summary": {}, "status": "pending", "title": "Old", "id": 2},
            {"decision": "d", "status": "decided", "id": 3, "title": "Kept", "more": True},
        ],
        "topic": "T",
        "id": 1,
        "schema_version": "0.7",
    }
    project.put("state/plan.json", b"\xef\xbb\xbf" + pretty(stored).replace(b"\n", b"\r\n"))
    call("plan_update", **arguments)
    edited = arguments["action"] == "edit"
    added = [] if edited else [issue(4, "New")]
    assert project.get("state/plan.json") == pretty(
        {
            "schema_version": "0.7",
            "id": 1,
            "topic": "T",
            "issues": [
                {"id": 2, "title": "New" if edited else "Old", "status": "pending", "how_summary": {}, "note": "ü"},
                {"id": 3, "title": "Kept", "status": "decided", "decision": "d", "more": True},
                *added,
            ],
            "created_at": "2020-01-01T00:00:00.000Z",
            "x_first": {"b": 1, "a": [None, 1.5]},
        }
    )


@pytest.mark.requirement("files.tolerated")
def test_odd_optional_values_survive(call: Client, project: Project) -> None:
    """An optional value of an odd type is neither an error nor lost."""
    stored = plan(1, "T", [{**issue(1, ""), "how_agents": 5, "decision": None}], research_summary=None)
    stored["research_summary"] = ["odd"]
    project.put("state/plan.json", stored)
    call("plan_update", action="add", title="A")
    after = project.json("state/plan.json")
    assert after["issues"] == [{**issue(1, ""), "how_agents": 5, "decision": None}, issue(2, "A")]
    assert after["research_summary"] == ["odd"]


@pytest.mark.requirement("files.newer-major")
@pytest.mark.parametrize("version", ["1.0", "2.3", "10", "abc", "", 7])
def test_newer_versions_are_read_only(call: Client, project: Project, version: Any) -> None:
    """A plan of a newer major, or of a version that is none, is answered for and not written."""
    project.put("state/plan.json", {"schema_version": version, **plan()})
    assert call("plan_status")["active"] is True
    for arguments in ({"action": "add", "title": "A"}, {"action": "remove", "issue_id": 1}):
        message = call.error("plan_update", **arguments)
        assert "plan.json" in message
        assert "version" in message


@pytest.mark.requirement("files.version-kept")
@pytest.mark.parametrize("version", ["0.1", "0.5", "0.6", "0.99"])
def test_other_minors_are_written(call: Client, project: Project, version: str) -> None:
    """Any minor version of ours is written and keeps its number."""
    project.put("state/plan.json", {"schema_version": version, **plan()})
    call("plan_update", action="add", title="A")
    assert project.json("state/plan.json")["schema_version"] == version
