"""plan_update on files of other harnesses: the fields that stay, and the files that are not written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Project, issue, plan, pretty


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
    """A plan of a newer or malformed version is read and not written."""
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
