"""The predicted effect of a message's tags."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.tags.parse import MOST
from nexus_mcp.tags.route import route
from tests.support import Client, Project
from tests.tags.support import check, routed, store_of

CLOSE = (
    "Close the cycle: check the whole result once more, and update the notes with [sync]. Closing drops the goal and "
    "the decisions of tasks.json: keep them in a note or with plan_decide. Then call task_close."
)
FINISHED = "The only task is completed, but the cycle is not closed."


def outcome(project: Project, message: str) -> tuple[str, str]:
    (tag,) = routed(project, message)
    return tag["outcome"], tag["advice"]


def open_plan(call: Client, *issues: str) -> None:
    call("plan_start", topic="Cache", issues=list(issues), research_summary="None yet.")


def finished(call: Client) -> None:
    call("task_add", title="Do it", context="Because")
    call("task_update", id=1, status="completed")


@pytest.mark.requirement("tags.skill")
def test_skill_tag_adds_text_mode_and_notes(project: Project) -> None:
    """The outcome has the skill's text, the variant as its mode, and the harness's notes for skills that need them."""
    catalog = load(None)
    notes = routed(project, "[plan]", "claude-code")[0]["harness_notes"]
    assert notes.startswith("# Claude Code")
    assert routed(project, "Please [plan:AUTO] a cache", "unheard-of") == [
        {
            "tag": "plan",
            "variant": "auto",
            "start": 7,
            "end": 18,
            "text": "a cache",
            "outcome": "skill",
            "skill": "nx-plan",
            "mode": "auto",
            "body": catalog.body("skills", "nx-plan"),
            "harness_notes": "",
            "advice": "",
        }
    ]
    (sync,) = routed(project, "[sync]", "claude-code")
    assert (sync["skill"], sync["mode"], sync["harness_notes"]) == ("nx-sync", "", "")


@pytest.mark.requirement("tags.early")
def test_decision_without_a_plan_gets_advice(project: Project) -> None:
    """[d] without an open plan is answered with how to start one."""
    advice = "No plan is open, so there is no question to decide. Start one first: [plan] and the topic."
    assert outcome(project, "[d] SQLite") == ("nothing", advice)


@pytest.mark.requirement("tags.early")
def test_decision_with_a_plan_names_the_open_issues(project: Project, call: Client) -> None:
    """It is for plan_decide, with the questions that are open; one without a text is answered with how to write it."""
    open_plan(call, "Where?", "When?")
    call("plan_decide", issue_id=1, decision="Here.")
    (tag,) = routed(project, "[d] Now.")
    assert (tag["outcome"], tag["action"], tag["would"], tag["advice"]) == (
        "action",
        "plan_decide",
        {
            "pending": [{"id": 2, "title": "When?"}],
            "issue": {"id": 2, "title": "When?"},
            "result": "records",
            "path": "state/plan.json",
            "next_step": "",
        },
        "",
    )
    assert outcome(project, "[d]") == (
        "nothing",
        "Nothing is written behind [d]. Write the decision there: [d] what was decided.",
    )
    call("plan_decide", issue_id=2, decision="Now.")
    assert outcome(project, "[d] Later.") == (
        "nothing",
        "Every question of the plan is decided. Reopen one or add one with plan_update first.",
    )
    project.put("state/plan.json", {**project.json("state/plan.json"), "issues": []})
    assert outcome(project, "[d] Later.") == (
        "nothing",
        "The plan has no question to decide. Add one with plan_update first.",
    )


@pytest.mark.requirement("tags.early")
def test_run_without_tasks_gets_advice(project: Project, call: Client) -> None:
    """[run] without tasks gets advice on how to create them."""
    assert outcome(project, "[run]") == (
        "nothing",
        "There are no tasks to run, and no plan. Begin with [plan] and the topic.",
    )
    open_plan(call, "Where?")
    advice = (
        "There are no tasks to run, and a question of the plan is open. Decide first: [d] and the decision; then call "
        "task_add for each decision."
    )
    assert outcome(project, "[run]") == ("nothing", advice)
    project.put("state/tasks.json", '{"goal": "", "decisions": [], "tasks": []}')
    assert outcome(project, "[run]") == ("nothing", advice)
    (project.state / "tasks.json").unlink()
    call("plan_update", action="add", title="When?")
    assert "and 2 questions of the plan are open. Decide first" in outcome(project, "[run]")[1]
    call("plan_decide", issue_id=1, decision="Here.")
    call("plan_decide", issue_id=2, decision="Now.")
    advice = "There are no tasks to run. Derive them from the plan first: call task_add for each decision."
    assert outcome(project, "[run]") == ("nothing", advice)
    call("task_add", title="Do it", context="Because")
    assert outcome(project, "[run]") == ("skill", "")


@pytest.mark.requirement("tags.early")
def test_run_of_a_plan_without_issues_gets_advice(project: Project, call: Client) -> None:
    """With an empty plan the advice is to add a question first."""
    open_plan(call)
    advice = "There are no tasks to run, and the plan has no question. Add one with plan_update first."
    assert outcome(project, "[run]") == ("nothing", advice)


@pytest.mark.requirement("tags.stale")
def test_unclosed_finished_cycle_is_named_first(project: Project, call: Client) -> None:
    """For [run] only the close is left, with the open work that it would drop; [plan] and [d] come after it; notes are
    stored.
    """
    open_plan(call, "Where?")
    finished(call)
    assert outcome(project, "[run]") == ("nothing", f"{FINISHED} {CLOSE}")
    assert outcome(project, "[plan]") == ("skill", f"{FINISHED} Call task_close first; then plan.")
    assert outcome(project, "[d] Here.") == (
        "action",
        f"{FINISHED} If the decision is about new work, call task_close first.",
    )
    assert outcome(project, "[m] Something") == ("action", "")
    call("task_add", title="More", context="Because")
    assert outcome(project, "[plan]") == ("skill", "")
    call("task_update", id=2, status="completed")
    assert outcome(project, "[plan]")[1].startswith("All 2 tasks are completed, but the cycle is not closed.")


@pytest.mark.requirement("tags.variant")
@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("[plan:aut]", "There is no [plan:aut]. Did you mean [plan:auto]?"),
        ("[m:x]", "There is no [m:x]. Did you mean [m:gc]?"),
        ("[run:fast]", "There is no [run:fast]. Write [run] and the text behind it."),
        ("[d:\x1b[2J]", None),
        (
            "[d:\u202ex]",
            'There is no [d:"\\u202ex"]. Write [d], or [d:2] with the id of the question, and the decision behind it.',
        ),
    ],
)
def test_unknown_variant_gets_near_names(project: Project, message: str, advice: str | None) -> None:
    """It is answered with the near ones, with nothing in it that acts on a terminal."""
    tags = routed(project, message)
    assert [(tag["outcome"], tag["advice"]) for tag in tags] == ([] if advice is None else [("nothing", advice)])


@pytest.mark.requirement("tags.preview")
def test_actions_are_predicted_and_not_carried_out(project: Project) -> None:
    """The outcome predicts the results of the actions, and the reason if one is refused."""
    project.put("rules/general.md", "Be kind.\n")
    would = [
        (tag["outcome"], tag.get("would", {}).get("result"), tag.get("would", {}).get("path"))
        for tag in routed(project, "[m] Slow locks [rule] Be quick. [rule] Be kind. [rule:a b] c [m] [m:gc]")
    ]
    assert would == [
        ("action", "creates", "memory/slow-locks.md"),
        ("action", "extends", "rules/general.md"),
        ("action", "unchanged", "rules/general.md"),
        ("nothing", None, None),
        ("nothing", None, None),
        ("action", "nothing", None),
    ]


def test_broken_file_affects_only_tags_that_need_it(project: Project) -> None:
    """An unreadable plan is reported for [d]; [m] and [sync] work."""
    project.put("state/plan.json", "{")
    tags = routed(project, "[d] x [sync] [m] Slow locks")
    assert [tag["outcome"] for tag in tags] == ["nothing", "skill", "action"]
    assert tags[0]["advice"].startswith(".nexus/state/plan.json (line 1, column 2)")


def test_message_without_tags_does_nothing(project: Project) -> None:
    """A message without tags does nothing."""
    assert routed(project, "Hello `[plan]`") == []


def test_tags_beyond_the_limit_are_counted(project: Project) -> None:
    """The first ones count, the others are counted."""
    answer: dict[str, Any] = route("[sync] " * (MOST + 5), load(None), store_of(project))
    check(answer, "route")
    assert (len(answer["tags"]), answer["left_out"]) == (MOST, 5)


@pytest.mark.requirement("tags.linear")
def test_message_of_four_mebibytes_is_routed(project: Project) -> None:
    """It is routed; a text that is too long for a note is not kept."""
    (tag,) = routed(project, "[m] " + "word " * (4 << 20 >> 2))
    assert tag["outcome"] == "nothing"
    assert "more than the 1 MiB that a note may have" in tag["advice"]
