"""The format of state files, and the foreign content that they keep."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import Client, Clock, Project, cycle, issue, plan, pretty, task, tasks


@pytest.mark.requirement("files.surrogates", "files.unknown-kept")
def test_lone_surrogates_stay_escapes_in_files(call: Client, project: Project, clock: Clock) -> None:
    """Half a character stays an escape in files, through every rewrite, and never leaves in an answer."""
    text = (
        pretty(plan(issues=[issue(1, "t@1")], topic="a@2")).decode().replace("@1", "\\ud800").replace("@2", "\\uDFFF x")
    )
    project.put("state/plan.json", text)
    project.put("state/tasks.json", pretty(tasks(task(1, "x@"), goal="@")).decode().replace("@", "\\udead"))
    assert call("plan_status")["topic"] == "a\ufffd x"
    assert call("plan_decide", issue_id=1, decision="d")["issue"] == "t\ufffd"
    assert b'"a\\udfff x"' in project.get("state/plan.json")
    assert call("task_list")["goal"] == "\ufffd"
    assert call("task_update", id=1, status="completed")["task"]["title"] == "x\ufffd"
    assert project.get("state/tasks.json").count(b'\\udead"') == 2
    answer = call("task_close")
    assert answer["memoryHint"]["cycleTopics"] == ["a\ufffd x", "\ufffd"]
    content = project.get("history.json")
    assert b'"a\\udfff x"' in content
    assert b'"x\\udead"' in content
    assert call("history_search")["cycles"] == [
        {
            "completed_at": clock.stamp(),
            "branch": "main",
            "topic": "a\ufffd x",
            "decisions": [{"title": "t\ufffd", "decision": "d"}],
            "task_count": 1,
        }
    ]
    call("task_close")
    assert project.get("history.json").startswith(content.removesuffix(b"\n  ]\n}\n"))


@pytest.mark.requirement("files.timestamps")
def test_timestamps_are_utc_with_milliseconds(call: Client, project: Project, clock: Clock) -> None:
    """Plan, task and cycle are stamped in UTC with three decimals."""
    clock.ms = 1_709_164_800_000  # 29 February 2024, midnight
    call("plan_start", topic="T", issues=[], research_summary="s")
    clock.advance(7 * 125)
    call("task_add", title="T", context="C")
    clock.advance(125)
    answer = call("task_close")
    (only,) = project.json("history.json")["cycles"]
    assert only["plan"]["created_at"] == "2024-02-29T00:00:00.000Z"
    assert only["tasks"][0]["created_at"] == "2024-02-29T00:00:00.875Z"
    assert only["completed_at"] == answer["cycle"] == "2024-02-29T00:00:01.000Z"


@pytest.mark.requirement("files.timestamps")
def test_default_clock_is_that_of_the_system_in_utc(project: Project) -> None:
    """Without a clock of the test's own the time is that of the system, in UTC wherever we are."""
    import time

    from nexus_mcp.server.app import App
    from nexus_mcp.workspace import Workspace
    from tests.support import stamp

    before = int(time.time() * 1000)
    client = Client(App(Workspace(str(project.root))), project)
    made = client("task_add", title="T", context="C")["task"]["created_at"]
    after = int(time.time() * 1000) + 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", made)
    assert stamp(before) <= made <= stamp(after)


NUMBERS = [
    "1e400", "-1e400", "9" * 5000, "12345678901234567890", "1.0", "1e5", "0.1", "-0", "-0.0", "1E-7",
    "123456789.123456789e3", "1" + "0" * 400 + ".5",
]  # fmt: skip


@pytest.mark.requirement("files.unknown-kept", "files.broken-kept")
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: n[:12])
def test_numbers_we_do_not_know(call: Client, project: Project, number: str) -> None:
    """A number in an unknown member keeps its value through a rewrite, or the rewrite is refused."""
    from decimal import Decimal

    text = pretty(plan()).decode().rstrip().removesuffix("}")
    project.put("state/plan.json", f'{text}, "x": {number}}}')
    before = project.get("state/plan.json")
    answer = call.app.call("plan_update", {"action": "add", "title": "A"})
    answer.confirm_delivery()
    after = project.get("state/plan.json")
    if answer.result["isError"]:
        assert after == before
    else:
        found = re.search(rb'"x": (\S+)\n', after)
        assert found
        kept = found[1].decode()
        assert Decimal(kept) == Decimal(number) or float(kept) == float(number) != float("inf")


@pytest.mark.requirement("files.unknown-kept")
def test_our_names_where_they_are_not_ours(call: Client, project: Project) -> None:
    """An unknown field is kept, even if it has the name of one of our fields elsewhere."""
    other: dict[str, Any] = {"deps": "text", "tasks": ["a", {}], "plan_issue": 2.0}
    project.put("state/plan.json", plan(issues=[issue(1, "A", deps=[1.0])], **other))
    assert call("plan_status")["issues"] == [issue(1, "A", deps=[1.0])]
    call("plan_update", action="add", title="B")
    assert project.get("state/plan.json").endswith(pretty(other)[1:])
    assert b'"deps": [\n        1.0' in project.get("state/plan.json")
    other = {"id": 2.0, "issues": "text", "deps": {}}
    project.put("state/tasks.json", {**tasks(task(1)), **other})
    call("task_update", id=1, status="completed")
    assert project.get("state/tasks.json").endswith(pretty(other)[1:])
    assert call("task_close")["archived"] == {"plan": True, "decisions": 0, "tasks": 1}


@pytest.mark.requirement("files.absent", "files.closed")
def test_no_null_is_written(call: Client, project: Project) -> None:
    """After a whole cycle no file of ours has a null, except in a cycle without a plan."""
    call("plan_start", topic="T", issues=["A"], research_summary="")
    call("plan_decide", issue_id=1, decision="", how_agents=None)
    call("task_add", title="T", context="C", owner=None)
    assert b"null" not in project.get("state/plan.json") + project.get("state/tasks.json")
    call("task_close")
    assert b"null" not in project.get("history.json")


@pytest.mark.requirement("files.closed", "plan.schema", "tasks.schema", "history.schema")
def test_files_keep_their_schemas(
    call: Client, project: Project, schema_errors: Callable[[str, Any], list[str]]
) -> None:
    """The files that tools write are valid against the published schemas."""
    call("plan_start", topic="T", issues=["A", "B"], research_summary="")
    call("plan_decide", issue_id=1, decision="d", how_agents=["a"], how_summary={"a": "b"}, how_agent_ids={"a": "c"})
    call("task_add", title="T", context="C", deps=[3], owner="o", plan_issue=1, decisions=["d"])
    assert schema_errors("plan", project.json("state/plan.json")) == []
    assert schema_errors("tasks", project.json("state/tasks.json")) == []
    call("task_close")
    call("task_close")
    assert schema_errors("history", project.json("history.json")) == []
    assert [len(c) for c in project.json("history.json")["cycles"]] == [5, 5]
    assert project.json("history.json")["cycles"][1] == {
        **cycle(at=project.json("history.json")["cycles"][1]["completed_at"])
    }
