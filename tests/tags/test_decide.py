"""The tag [d] records a decision if it is certain which question it answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp.store.store import Store
from tests.support import Client, Project
from tests.tags.support import acted, routed

NEXT = "All issues are decided. Turn the decisions into tasks with task_add, then carry them out."


@pytest.fixture
def planned(project: Project, call: Client) -> Project:
    """A project with two pending questions."""
    call("plan_start", topic="Cache", issues=["Where?", "When?"], research_summary="None yet.")
    return project


def issues(project: Project) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.json("state/plan.json")["issues"]
    return found


def step(project: Project, message: str) -> tuple[str, str]:
    (one,) = acted(project, message)
    return one["result"], one["next_step"]


@pytest.mark.requirement("tags.decide")
def test_text_is_the_decision_on_the_only_pending_question(planned: Project, call: Client) -> None:
    """The plan is the same, byte for byte, as after a call of plan_decide with the user's words."""
    call("plan_decide", issue_id=1, decision="Here.")
    before = (planned.state / "plan.json").read_bytes()
    call("plan_decide", issue_id=2, decision="Now: at once.")
    expected = (planned.state / "plan.json").read_bytes()
    (planned.state / "plan.json").write_bytes(before)
    assert step(planned, "So be it. [d] Now: at once.\n") == ("recorded", NEXT)
    assert (planned.state / "plan.json").read_bytes() == expected


@pytest.mark.requirement("tags.decide")
def test_id_in_the_tag_names_the_question(planned: Project) -> None:
    """[d:2] decides issue 2 while others are pending, and the rest is named."""
    assert step(planned, "[d:2] Now.") == ("recorded", 'Pending: issue 1 "Where?".')
    assert issues(planned) == [
        {"id": 1, "title": "Where?", "status": "pending"},
        {"id": 2, "title": "When?", "status": "decided", "decision": "Now."},
    ]
    assert step(planned, "[d:01] Here.") == ("recorded", NEXT)


@pytest.mark.requirement("tags.decide")
def test_several_pending_questions_are_for_the_agent(planned: Project) -> None:
    """Only the agent knows which one was discussed; nothing is written."""
    before = planned.snapshot()
    assert step(planned, "[d] Now.")[0] == "for_the_agent"
    assert planned.snapshot() == before


@pytest.mark.requirement("tags.decide")
@pytest.mark.parametrize("message", ["[d:2] Now.", "[d:2] Now. [d] Here."])
def test_config_leaves_decisions_to_the_agent(planned: Project, message: str) -> None:
    """With tags.decide: model no tag records a decision, not even one that names its question."""
    planned.put("config.yml", "tags: {decide: model}\n")
    before = planned.snapshot()
    assert {one["result"] for one in acted(planned, message)} == {"for_the_agent"}
    (tag, *_) = routed(planned, message)
    assert (tag["outcome"], tag["would"]["issue"], "result" in tag["would"]) == (
        "action",
        {"id": 2, "title": "When?"},
        False,
    )
    assert planned.snapshot() == before


@pytest.mark.parametrize("content", ["tags: {decide: record}\n", "tags:\n"])
def test_config_keeps_the_default(planned: Project, content: str) -> None:
    """With the default, or without a value, a setting has the same effect as without a file."""
    planned.put("config.yml", content)
    assert step(planned, "[d:2] Now.")[0] == "recorded"


def test_faulty_config_leaves_decisions_to_the_agent(planned: Project) -> None:
    """The setting may be behind the fault, so nothing is recorded, and the fault is named with its place."""
    planned.put("config.yml", "tags: {decide: never}\n")
    result, advice = step(planned, "[d:2] Now.")
    assert result == "for_the_agent"
    assert advice.startswith(".nexus/config.yml:1:8: decide must be one of record, model. ")
    assert advice.endswith("Call plan_decide with the text behind the tag, for the question that this text answers.")
    assert routed(planned, "[d:2] Now.")[0]["advice"].startswith(".nexus/config.yml:1:8: decide ")
    assert issues(planned)[1]["status"] == "pending"


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("[d:7] Now.", "The plan has no issue 7; it has 1, 2."),
        ("[d:0] Now.", "The plan has no issue 0; it has 1, 2."),
        ("[d:two] Now.", "There is no [d:two]. Write [d], or [d:2] with the id of the question, and the decision "),
        ("[d:²] Now.", 'There is no [d:"²"]. '),
        ("[d:2]", "Nothing is written behind [d]. Write the decision there: [d] what was decided."),
        ("[d:2] \ud800", "The text behind [d] has a lone surrogate, which no file can hold. "),
        ("[d:2] " + "x" * (1 << 20) + "y", "The text behind [d] has 1048577 bytes, more than the 1 MiB that "),
    ],
)
def test_unusable_text_is_no_decision(planned: Project, message: str, advice: str) -> None:
    """The reason is reported, by the preview and by the step, and nothing is written."""
    before = planned.snapshot()
    result, reason = step(planned, message)
    assert (result, reason[: len(advice)]) == ("failed", advice)
    if "\ud800" not in message:  # the schema's own check takes no surrogate
        (tag,) = routed(planned, message)
        assert (tag["outcome"], tag["advice"]) == ("nothing", reason)
    assert planned.snapshot() == before


def test_unknown_issue_of_a_long_plan_counts_the_others(planned: Project) -> None:
    """At most 20 ids are listed."""
    plan = planned.json("state/plan.json")
    issue = plan["issues"][0]
    planned.put("state/plan.json", {**plan, "issues": [{**issue, "id": number} for number in range(1, 24)]})
    assert " 19, 20 and 3 more." in step(planned, "[d:99] Now.")[1]


def test_repeated_message_records_a_decision_once(planned: Project) -> None:
    """A harness may send a message twice: the second time nothing changes."""
    assert step(planned, "[d:2] Now.")[0] == "recorded"
    before = planned.snapshot()
    (tag,) = routed(planned, "[d:2] Now.")
    assert tag["would"]["result"] == "unchanged"
    assert step(planned, "[d:2] Now.") == ("unchanged", "")
    assert planned.snapshot() == before


def test_decided_question_is_replaced_by_its_id(planned: Project) -> None:
    """The old decision is named, before and after, with the way back."""
    acted(planned, "[d:2] Now.")
    told = 'It replaces the decision "Now."; nexus-mcp undo restores the old one.'
    (tag,) = routed(planned, "[d:2] Later.")
    assert (tag["would"]["result"], tag["advice"]) == ("replaces", told)
    assert step(planned, "[d:2] Later.") == ("replaced", f'{told} Pending: issue 1 "Where?".')
    assert issues(planned)[1]["decision"] == "Later."


def test_finished_cycle_is_named(planned: Project, call: Client) -> None:
    """The decision may belong to something new; tasks that cannot be read do not matter."""
    call("task_add", title="Do it", context="Because")
    call("task_update", id=1, status="completed")
    told = "The only task is completed, but the cycle is not closed. If the decision is about new work, call task_close"
    assert step(planned, "[d:1] Here.")[1].startswith(told)
    planned.put("state/tasks.json", "{")
    assert step(planned, "[d] Now.") == ("recorded", NEXT)


def test_cut_decision_has_a_warning(planned: Project) -> None:
    """The text ends at the next tag, and the answer names the omitted part."""
    steps = acted(planned, "[d:2] Never type [run] before")
    assert steps[0]["next_step"].startswith('Pending: issue 1 "Where?". The text ends before the next tag, so it')


def test_question_decided_meanwhile_is_not_decided_again(planned: Project, call: Client, monkeypatch: Any) -> None:
    """Another process may decide before the lock is taken: the question is checked again under the lock."""
    call("plan_decide", issue_id=1, decision="Here.")
    plan = Store.plan

    def decided_after(store: Store) -> dict[str, Any] | None:
        found = plan(store)
        call("plan_decide", issue_id=2, decision="Theirs.")
        return found

    monkeypatch.setattr(Store, "plan", decided_after)
    assert step(planned, "[d] Mine.") == (
        "failed",
        "Every question of the plan is decided. Reopen one or add one with plan_update first.",
    )
    assert issues(planned)[1]["decision"] == "Theirs."


def test_log_names_the_tag(planned: Project) -> None:
    """The operation log has the change as one of plan_decide, made by the tag."""
    acted(planned, "[d:2] Now.")
    line = json.loads((planned.state / "oplog.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert (line["tool"], line["client"], line["what"]) == ("plan_decide", "tag [d]", "decides issue 2")
