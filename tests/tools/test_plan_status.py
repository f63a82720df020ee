"""plan_status returns the plan as recorded."""

from __future__ import annotations

import pytest

from tests.support import Client, Project, issue, plan, pretty


@pytest.mark.requirement("plan_status.none", "tree.reads")
def test_status_without_plan_is_inactive(call: Client, project: Project) -> None:
    """Without a plan the answer is active false alone, and nothing is created."""
    assert call("plan_status") == {"active": False}
    assert not project.nexus.exists()


@pytest.mark.requirement("plan_status.result", "plan_status.summary", "plan_status.issues")
def test_status_has_issues_and_summary(call: Client, project: Project) -> None:
    """The answer has all issues, and the summary counts them."""
    issues = [
        issue(
            2, "Lock", "decided", decision="flock", how_agents=["architect"], how_summary={"architect": "ok"},
            how_agent_ids={"architect": "a-1"},
        ),
        issue(5, "Format"),
        issue(6, "Name", "decided", decision=""),
    ]  # fmt: skip
    project.put("state/plan.json", plan(3, "Storage", issues))
    assert call("plan_status") == {
        "active": True,
        "plan_id": 3,
        "topic": "Storage",
        "issues": issues,
        "research_summary": "Known",
        "summary": {"total": 3, "pending": 1, "decided": 2},
    }


@pytest.mark.requirement("plan_status.result", "files.foreign")
def test_absent_research_summary_stays_absent(call: Client, project: Project) -> None:
    """A plan of another harness without a research summary is answered without one."""
    project.put("state/plan.json", plan(1, "T", [], research_summary=None))
    assert call("plan_status") == {
        "active": True,
        "plan_id": 1,
        "topic": "T",
        "issues": [],
        "summary": {"total": 0, "pending": 0, "decided": 0},
    }


@pytest.mark.requirement("plan_status.issues", "files.tolerated", "files.ids")
def test_unknown_and_odd_fields_are_read(call: Client, project: Project) -> None:
    """Members we do not know, odd optional values and 2.0 as an id are read; ids are answered as whole numbers."""
    stored = [{"id": 2.0, "title": " ", "status": "pending", "decision": None, "how_agents": "one", "x": {"y": [1]}}]
    project.put("state/plan.json", b"\xef\xbb\xbf" + pretty(plan(7.0, "T", stored, schema_version="0.9", z=1)))
    answer = call("plan_status")
    assert answer["plan_id"] == 7
    assert isinstance(answer["plan_id"], int)
    assert isinstance(answer["issues"][0]["id"], int)
    assert answer["issues"] == [{**stored[0], "id": 2}]
    assert set(answer) == {"active", "plan_id", "topic", "issues", "research_summary", "summary"}


@pytest.mark.requirement("files.broken", "files.broken-told", "files.broken-quiet")
@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "plan.json"),
        (b"   \n", "plan.json"),
        (b"\x00" * 16, "plan.json"),
        (b'{"id": 1,\n  SECRET }', "line 2"),
        (b"[]", "plan.json"),
        (b"null", "plan.json"),
        (b'"SECRET"', "plan.json"),
        (b"12", "plan.json"),
        (b'{"topic":"SECRET","issues":[],"created_at":"x"}', "id"),
        (b'{"id":"1","topic":"SECRET","issues":[],"created_at":"x"}', "id"),
        (b'{"id":true,"topic":"SECRET","issues":[],"created_at":"x"}', "id"),
        (b'{"id":1.5,"topic":"SECRET","issues":[],"created_at":"x"}', "id"),
        (b'{"id":0,"topic":"SECRET","issues":[],"created_at":"x"}', "id"),
        (b'{"id":1,"issues":[],"created_at":"SECRET"}', "topic"),
        (b'{"id":1,"topic":null,"issues":[],"created_at":"SECRET"}', "topic"),
        (b'{"id":1,"topic":"SECRET","created_at":"x"}', "issues"),
        (b'{"id":1,"topic":"SECRET","issues":{},"created_at":"x"}', "issues"),
        (b'{"id":1,"topic":"SECRET","issues":[]}', "created_at"),
        (b'{"id":1,"topic":"SECRET","issues":[],"created_at":5}', "created_at"),
        (b'{"id":1,"topic":"T","issues":["SECRET"],"created_at":"x"}', "/issues/0"),
        (b'{"id":1,"topic":"T","issues":[{"title":"SECRET","status":"pending"}],"created_at":"x"}', "/issues/0/id"),
        (b'{"id":1,"topic":"T","issues":[{"id":1,"status":"pending"}],"created_at":"x"}', "/issues/0/title"),
        (b'{"id":1,"topic":"T","issues":[{"id":1,"title":"SECRET"}],"created_at":"x"}', "/issues/0/status"),
        (
            b'{"id":1,"topic":"T","issues":[{"id":1,"title":"t","status":"SECRET"}],"created_at":"x"}',
            "/issues/0/status",
        ),
        (b'{"id":1,"topic":"T","topic":"SECRET","issues":[],"created_at":"x"}', "plan.json"),
        (b'{"id":1,"topic":"T","issues":[],"created_at":"x","n":NaN}', "plan.json"),
        (b'{"id":1,"topic":"T","issues":[],"created_at":"x","n":-Infinity}', "plan.json"),
        (b'{"id":1,"topic":"T","issues":[],"created_at":"x","a":{"k":1,"k":"SECRET"}}', "plan.json"),
        (b'{"id":1,"topic":"\xff SECRET","issues":[],"created_at":"x"}', "plan.json"),
        (b'{"id":1,"topic":"a\nSECRET","issues":[],"created_at":"x"}', "plan.json"),
        (b'{"id":1,"topic":"T","issues":[],"created_at":"x"} SECRET', "plan.json"),
        (b'{"id":1,"topic":"T","issues":[],"created_at":"x"}{}', "plan.json"),
        (b'{"id":01,"topic":"T","issues":[],"created_at":"x"}', "plan.json"),
        ('{"id":1,"topic":"T","issues":[],"created_at":"x"}'.encode("utf-16"), "plan.json"),
    ],
)
def test_broken_plan_is_an_error(call: Client, project: Project, content: bytes, place: str) -> None:
    """A broken plan is an error; the message has the place, not the content."""
    project.put("state/plan.json", content)
    message = call.error("plan_status")
    assert "plan.json" in message
    assert place in message
    assert "SECRET" not in message
