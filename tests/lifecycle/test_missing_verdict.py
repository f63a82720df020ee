"""subagent_complete warns about an agent that checks and gives no verdict."""

from __future__ import annotations

import os

import pytest

from tests.lifecycle.support import Teller
from tests.support import Json, Project, task, tasks

TEXT = "ended without a verdict"


@pytest.fixture
def tell(project: Project) -> Teller:
    project.put("state/tasks.json", tasks(task(1)))
    return Teller(project.root)


def warnings(tell: Teller, name: str, **more: Json) -> str:
    tell("subagent_spawn", agent_name=name, agent_id="c1")
    return " ".join(tell("subagent_complete", agent_id="c1", **more)["warnings"])


@pytest.mark.parametrize("name", ["tester", "reviewer"])
@pytest.mark.parametrize("more", [{}, {"last_message": "I looked at the verdict of the court."}])
def test_a_checker_without_a_verdict_is_named(tell: Teller, name: str, more: dict[str, Json]) -> None:
    """With the command that stores one."""
    text = warnings(tell, name, **more)
    assert f"{name} has {TEXT}" in text
    assert "nexus-mcp verdict TASK FILE" in text


@pytest.mark.parametrize(
    "message", ["VERDICT: pass", "Done.\n**Verdict: reject**\n", '```json\n{"approved": true}\n```']
)
def test_a_verdict_in_the_last_message_is_one(tell: Teller, message: str) -> None:
    """In the form that the agents' texts ask for, or as JSON."""
    assert TEXT not in warnings(tell, "tester", last_message=message)


def test_a_stored_verdict_is_one_if_it_is_new(tell: Teller, project: Project) -> None:
    """That of an earlier check does not count."""
    stored = project.nexus / "state/artifacts/verdicts/1.json"
    project.put("state/artifacts/verdicts/1.json", {"version": 1})
    for stored_at, is_missing in ((4_000_000_000, False), (1_000_000_000, True)):
        os.utime(stored, (stored_at, stored_at))
        assert (TEXT in warnings(tell, "tester")) is is_missing


@pytest.mark.parametrize("name", ["engineer", "a-stranger"])
def test_other_agents_need_no_verdict(tell: Teller, name: str) -> None:
    """Only those that check."""
    assert TEXT not in warnings(tell, name)


def test_without_open_tasks_there_is_nothing_to_judge(tell: Teller, project: Project) -> None:
    """A checker that was called for itself owes the run of tasks nothing."""
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    assert TEXT not in warnings(tell, "tester")
