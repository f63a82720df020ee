"""plan_start archives an active plan, then writes a new one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Clock, Project, cycle, issue, plan, pretty, stamp, task, tasks


@pytest.mark.requirement(
    "plan_start.result", "plan_start.writes", "plan.keys", "files.indent", "files.newline", "files.key-order",
)  # fmt: skip
def test_first_plan_has_id_1(call: Client, project: Project, clock: Clock) -> None:
    """The first plan has id 1, its issues numbered from 1 and pending, and nothing is archived."""
    answer = call("plan_start", topic="Storage", issues=["Format", "Lock"], research_summary="Two candidates")
    assert answer == {
        "created": True,
        "plan_id": 1,
        "topic": "Storage",
        "issueCount": 2,
        "previousArchived": False,
    }
    assert project.get("state/plan.json") == pretty(
        {
            "id": 1,
            "topic": "Storage",
            "issues": [issue(1, "Format"), issue(2, "Lock")],
            "research_summary": "Two candidates",
            "created_at": clock.stamp(),
        }
    )
    assert not (project.nexus / "history.json").exists()


@pytest.mark.requirement("plan_start.archives", "plan_start.archived-flag", "plan_start.next-id", "files.closed")
def test_an_active_plan_is_archived(call: Client, project: Project, clock: Clock) -> None:
    """The plan that was active is a cycle without tasks afterwards, and the new one has the next id."""
    old = plan(4, "Old", [issue(1, "Q", "decided", decision="A")], created_at=stamp(5))
    project.put("state/plan.json", old)
    answer = call("plan_start", topic="New", issues=["One"], research_summary="s")
    assert answer == {"created": True, "plan_id": 5, "topic": "New", "issueCount": 1, "previousArchived": True}
    assert project.get("history.json") == pretty({"cycles": [cycle(old, at=clock.stamp())]})
    assert project.json("state/plan.json")["id"] == 5


@pytest.mark.requirement("plan_start.next-id", "plan_start.repeated-ids", "plan_start.archived-flag")
@pytest.mark.parametrize(
    ("cycles", "expected"),
    [
        ([], 1),
        ([{"plan": None, "tasks": []}], 1),
        ([{}], 1),
        ([{"plan": {"id": 3}}, {"plan": {"id": 2}}], 4),
        ([{"plan": {"id": 3}}, {"plan": {"id": 3}}], 4),
        ([{"plan": {"id": 2.0}}], 3),
        ([{"plan": {"id": "9"}}, {"plan": {"id": True}}, {"plan": {"id": None}}, {"plan": []}, {"plan": 12}], 1),
        ([{"plan": {"id": 1}, "tasks": [{"id": 50, "plan": {"id": 60}}]}, {"id": 70}], 2),
        ([{"plan": {"id": 1, "issues": [{"id": 40}], "extra": {"id": 41, "plan": {"id": 42}}}}], 2),
        ([{"plan": {"topic": "ids come late", "issues": [], "id": 8}}], 9),
        ([{"plan": {"topic": '"plan":{"id":90}', "id": 8}}], 9),
    ],
)
def test_next_plan_id_is_above_the_highest(call: Client, project: Project, cycles: list[Any], expected: int) -> None:
    """The new id is one above the highest plan id found in the history, wherever in the file that plan stands."""
    project.put("history.json", {"cycles": cycles})
    answer = call("plan_start", topic="T", issues=[], research_summary="")
    assert answer == {"created": True, "plan_id": expected, "topic": "T", "issueCount": 0, "previousArchived": False}


@pytest.mark.requirement("plan_start.next-id")
def test_next_id_is_above_both_history_and_active_plan(call: Client, project: Project) -> None:
    """A history with higher ids than the active plan still decides."""
    project.put("history.json", {"cycles": [{"plan": {"id": 9}}]})
    project.put("state/plan.json", plan(2))
    assert call("plan_start", topic="T", issues=[], research_summary="")["plan_id"] == 10


@pytest.mark.requirement("plan_start.no-issues", "plan_start.empty-research")
def test_empty_issues_and_research_are_recorded(call: Client, project: Project, clock: Clock) -> None:
    """An empty list of issues and an empty research summary are recorded, and the summary is returned."""
    call("plan_start", topic="T", issues=[], research_summary="")
    assert project.get("state/plan.json") == pretty(
        {"id": 1, "topic": "T", "issues": [], "research_summary": "", "created_at": clock.stamp()}
    )
    assert call("plan_status")["research_summary"] == ""


@pytest.mark.requirement("plan_start.needs-research", "calls.missing")
def test_missing_research_changes_nothing(call: Client, project: Project) -> None:
    """Without a research summary nothing is archived or written."""
    project.put("state/plan.json", plan())
    assert call.error("plan_start", topic="T", issues=["a"]) == "research_summary is required"
    assert call.error("plan_start", topic="T", issues=["a"], research_summary=None) == "research_summary is required"


@pytest.mark.requirement("calls.missing", "calls.joined")
def test_all_missing_parameters_are_reported_at_once(call: Client) -> None:
    """Every missing parameter is reported, joined by a semicolon."""
    faults = call.error("plan_start").split("; ")
    assert sorted(faults) == ["issues is required", "research_summary is required", "topic is required"]


@pytest.mark.requirement("plan_start.titles", "calls.blank")
@pytest.mark.parametrize("title", ["", " ", "\t\n", "\u00a0", "\u3000"])
def test_a_blank_title_is_refused(call: Client, title: str) -> None:
    """A blank item of issues is refused and located."""
    message = call.error("plan_start", topic="T", issues=["fine", title], research_summary="s")
    assert message == "issues item 2 of 2 must not be blank"


@pytest.mark.requirement("calls.blank")
@pytest.mark.parametrize("topic", ["", "  ", "\n"])
def test_a_blank_topic_is_refused(call: Client, topic: str) -> None:
    """A blank topic is refused by name."""
    assert "topic" in call.error("plan_start", topic=topic, issues=[], research_summary="s")


@pytest.mark.requirement("plan_start.keeps-tasks")
def test_tasks_keep_their_bytes(call: Client, project: Project) -> None:
    """The task file keeps its bytes, and its tasks do not enter the archived cycle."""
    content = b'{"goal":"g", "decisions":[],"tasks":[]}'
    project.put("state/tasks.json", content)
    project.put("state/plan.json", plan())
    call("plan_start", topic="T", issues=[], research_summary="s")
    assert project.get("state/tasks.json") == content
    assert project.json("history.json")["cycles"][0]["tasks"] == []


@pytest.mark.requirement("plan_start.keeps-tasks", "files.broken-kept")
def test_broken_tasks_do_not_matter(call: Client, project: Project) -> None:
    """A broken task file is not this tool's business: it succeeds and leaves it."""
    project.put("state/tasks.json", b"{broken")
    assert call("plan_start", topic="T", issues=[], research_summary="s")["created"] is True
    assert project.get("state/tasks.json") == b"{broken"


@pytest.mark.requirement("plan_start.reported-topic", "files.readable", "calls.unescaped", "files.encoding")
def test_text_is_kept_as_given(call: Client, project: Project) -> None:
    """Text is neither trimmed nor escaped nor normalised."""
    topic = '  Größe e\u0301 漢字 😀 \u2028 </script> \\ "q" \x7f\t '
    assert call("plan_start", topic=topic, issues=[" a ", "a"], research_summary="é")["topic"] == topic
    assert project.json("state/plan.json")["topic"] == topic
    assert "漢字 😀 \u2028".encode() in project.get("state/plan.json")
    assert [i["title"] for i in project.json("state/plan.json")["issues"]] == [" a ", "a"]
    call("plan_start", topic="Next", issues=[], research_summary="")
    assert "漢字 😀 \u2028".encode() in project.get("history.json")
    assert project.json("history.json")["cycles"][0]["plan"]["topic"] == topic


@pytest.mark.requirement("history.cycle-plan", "files.unknown-kept")
def test_unknown_fields_of_the_archived_plan_are_kept(call: Client, project: Project, clock: Clock) -> None:
    """The archived plan keeps unknown fields, after the known ones."""
    stored = {"x_new": {"a": [1, 2.5, None]}, **plan(1, issues=[{"zeta": 1, **issue(1, "I")}])}
    project.put("state/plan.json", stored)
    call("plan_start", topic="T", issues=[], research_summary="s")
    assert project.json("history.json") == {"cycles": [cycle(stored, at=clock.stamp())]}


@pytest.mark.requirement("history.unique-time")
def test_plans_in_one_millisecond_get_different_times(call: Client, project: Project, clock: Clock) -> None:
    """Three plans in the same millisecond give cycles one millisecond apart."""
    for _ in range(4):
        call("plan_start", topic="T", issues=[], research_summary="s")
    times = [c["completed_at"] for c in project.json("history.json")["cycles"]]
    assert times == [clock.stamp(0), clock.stamp(1), clock.stamp(2)]


@pytest.mark.requirement("files.broken-kept")
@pytest.mark.parametrize("file", ["history.json", "state/plan.json"])
def test_a_broken_file_refuses_the_start(call: Client, project: Project, file: str) -> None:
    """With a broken plan or history no plan starts; both files stay."""
    project.put("state/plan.json", plan())
    project.put("history.json", {"cycles": []})
    project.put(file, b'{"id": 1,')
    assert file in call.error("plan_start", topic="T", issues=[], research_summary="s")


@pytest.mark.requirement("plan_start.keeps-tasks")
def test_tasks_of_an_archived_plan_stay_open(call: Client, project: Project) -> None:
    """Tasks of the plan before are still there for the next close."""
    project.put("state/tasks.json", tasks(task(1)))
    call("plan_start", topic="T", issues=[], research_summary="s")
    assert call("task_close")["archived"] == {"plan": True, "decisions": 0, "tasks": 1}
