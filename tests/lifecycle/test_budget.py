"""A context has the most important texts first, and names those that were left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.lifecycle.budget import NOTES, OUTCOME, SKILL, STATE, Part, fit
from nexus_mcp.lifecycle.host import Host
from tests.lifecycle.support import Teller, put
from tests.support import Project, task, tasks

LIMIT = 9000


def test_small_context_stays_unchanged() -> None:
    """Within the limit, and without one, the texts stay in their order."""
    parts = [Part("notes", NOTES), Part("state", STATE)]
    assert fit(parts, LIMIT) == fit(parts, 0) == "notes\n\nstate"


def test_important_texts_come_first() -> None:
    """Beyond the limit the order is: outcomes, skill, progress, notes; each omitted part is named."""
    skill = "\n".join(f"line {number}" for number in range(3000))
    parts = [Part("n" * 5000, NOTES), Part(skill, SKILL, "nx-plan"), Part("done", OUTCOME)]
    text = fit(parts, LIMIT)
    assert len(text) <= LIMIT
    assert text.startswith("done\n\nline 0\nline 1\n")
    assert "nexus://skills/nx-plan" in text


@given(
    st.lists(st.tuples(st.text(max_size=4000), st.integers(0, 3)), max_size=12),
    st.integers(min_value=200, max_value=9000),
)
def test_no_context_is_longer_than_its_limit(parts: list[tuple[str, int]], limit: int) -> None:
    """Whatever the texts are, the result has at most `limit` characters."""
    made = [Part(text, kind, "nx-run") for text, kind in parts]
    assert len(fit(made, limit)) <= limit


def test_five_hundred_notes_fit(project: Project) -> None:
    """The context of a new agent, of a message and after a compaction fits with 500 notes and 200 tasks."""
    for number in range(500):
        project.put(f"memory/note-{number:03}-with-a-rather-long-name-about-something.md", "<!-- tags: a, b -->\n")
    put(project, ".nexus/state/tasks.json", tasks(*(task(number) for number in range(1, 201))))
    tell = Teller(project.root, harness_id="claude-code", host=Host(limit=LIMIT))
    answers = [
        tell("user_message", session_id="s", prompt="[run] and [plan] and [sync]"),
        tell("subagent_spawn", session_id="s", agent_name="architect", agent_id="a1"),
        tell("session_start", session_id="s", source="compact"),
    ]
    assert [len(answer["context"]) <= LIMIT for answer in answers] == [True] * 3
    assert "LIMITS: you are architect" in answers[1]["context"]


def test_installed_skill_is_named(project: Project) -> None:
    """If the harness has the skill, the model gets the instruction to start it, with the mode and the user's words."""
    tell = Teller(project.root, harness_id="claude-code", host=Host(limit=LIMIT, has_skills=True))
    context = tell("user_message", session_id="s", prompt="[plan:auto] a login page")["context"]
    assert 'Start the skill nx-plan now, mode auto, with: "a login page".' in context
    assert "Work by its text" not in context
    again = tell("session_start", session_id="s", source="compact")["context"]
    assert again == "The skill nx-plan is active. If you do not have its text, start it again."
