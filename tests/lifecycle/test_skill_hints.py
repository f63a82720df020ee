"""The first message of a session may be answered with the hints of skills."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.lifecycle.skill_hints import MOST, SEARCHED, find_skills, has_words
from tests.lifecycle.support import Teller
from tests.support import Project

PLAN = "The skill nx-plan may fit this message. It is not started. With several choices open, propose"
META = "id: {id}\nname: N\ndescription: D.\nmanual_only: false\nharness_notes: []\n"


@pytest.fixture
def started(project: Project, tell: Teller) -> Project:
    """A project with a session that has begun."""
    tell("session_start", source="startup", session_id="s1")
    return project


def context(tell: Teller, prompt: str, session: str = "s1") -> str:
    answer = tell("user_message", prompt=prompt, session_id=session)
    assert answer["warnings"] == []
    return str(answer.get("context", ""))


@pytest.mark.requirement("user_message.hints")
@pytest.mark.usefixtures("started")
def test_hint_comes_with_the_first_message_alone(tell: Teller) -> None:
    """The skill is named and not started; the next message gets no hint, but a new session does."""
    first = context(tell, "Please make\n A PLAN for the cache.")
    assert first.startswith(PLAN)
    assert "## Procedure" not in first
    assert context(tell, "Make a plan!") == ""
    tell("session_start", source="startup", session_id="s2")
    assert context(tell, "Make a plan!", "s2").startswith(PLAN)
    tell("session_start", source="clear", session_id="s1")
    assert context(tell, "Make a plan!").startswith(PLAN)


@pytest.mark.requirement("user_message.hints")
@pytest.mark.usefixtures("started")
def test_first_message_counts_without_a_trigger(tell: Teller) -> None:
    """A message without a trigger is the first one all the same, also after a compaction and a resumption."""
    assert context(tell, "Hello") == ""
    assert context(tell, "Make a plan.") == ""
    for event in ("context_compact", "session_start"):
        tell(event, session_id="s1", **({"source": "resume"} if event == "session_start" else {}))
        assert PLAN not in context(tell, "Make a plan.")


@pytest.mark.usefixtures("started")
def test_message_that_starts_a_skill_gets_no_hint(tell: Teller) -> None:
    """A message with the tag of a skill gets no hint."""
    text = context(tell, "[sync] and make a plan")
    assert "nx-sync" in text
    assert PLAN not in text
    assert context(tell, "make a plan") == ""


def test_project_without_sessions_is_not_written_to(project: Project, tell: Teller) -> None:
    """No hint is sent if it cannot be recorded."""
    before = project.snapshot()
    assert context(tell, "Make a plan.") == ""
    assert project.snapshot() == before


def test_hint_of_the_projects_own_skill(started: Project, tell: Teller) -> None:
    """A hint of the project is sent unchanged, except for text that could start a tag."""
    meta = META.format(id="prune") + 'triggers: [prune]\nhint: "Line <b> one.\\nTwo.\\nThree."\n'
    started.put("skills/prune/meta.yml", meta)
    started.put("skills/prune/body.md", "# Prune\n")
    text = context(tell, "Prune the notes")
    assert text.startswith("The skill prune may fit this message. It is not started. Line ")
    assert text.endswith(" one.\nTwo.\nThree.")
    assert "<b>" not in text


def test_hints_of_few_skills(started: Project, tell: Teller) -> None:
    """At most MOST, in the order of their ids."""
    for name in ("d", "c", "b", "a"):
        started.put(f"skills/{name}/meta.yml", META.format(id=name) + "triggers: [prune]\nhint: Do.\n")
        started.put(f"skills/{name}/body.md", "# Prune\n")
    named = [line.split()[2] for line in context(tell, "Prune!").splitlines() if line]
    assert (named, MOST) == (["a", "b", "c"], 3)


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("a plan", "plan", True),
        ("plan", "plan", True),
        ("(plan)", "plan", True),
        ("plane", "plan", False),
        ("replan", "plan", False),
        ("my_plan", "plan", False),
        ("plan2", "plan", False),
        ("plané", "plan", False),
        ("planes and a plan", "plan", True),
        ("(xplan", "plan", False),
        ("planx)", "plan", False),
        ("c++ code", "c++", True),
        ("c++11", "c++", True),
        ("abc++", "c++", False),
        ("我们来计划一下", "计划", True),
        ("x计划", "计划", True),
        ("plan", "", False),
    ],
)
def test_words_are_found_whole(text: str, words: str, found: bool) -> None:
    """A trigger within a longer word does not count; scripts without blanks have no such boundary."""
    assert has_words(text, words) == found


def test_hint_search_reads_only_the_beginning() -> None:
    """Only the beginning of a pasted message is searched."""
    skill: dict[str, Any] = {"id": "a", "triggers": ["prune"], "hint": "Do."}
    assert find_skills({"a": skill}, "x " * (SEARCHED // 2) + "prune") == []
    assert find_skills({"a": skill}, "prune " + "x " * SEARCHED) == [skill]


def test_shipped_hints_are_short() -> None:
    """Skills that agents may choose have a hint of one sentence; nx-init, which users start, has none."""
    skills = load(None).skills
    assert [name for name, one in skills.items() if one["triggers"]] == ["nx-plan", "nx-run", "nx-sync"]
    assert [one["hint"] for one in skills.values() if len(one["hint"]) > 100] == []
