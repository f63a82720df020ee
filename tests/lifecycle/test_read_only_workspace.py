"""Events in a workspace that cannot be written still answer with the readable parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nexus_mcp.lifecycle import guard
from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.lifecycle.hooks import ANSWERED, logged
from tests.lifecycle.progress_texts import PLAN_TEXT, TASKS_TEXT
from tests.support import Json, Project

OWN = {"harness_id": "claude-code", "session_id": "s"}
LOG = ".nexus/state/claude-code/hook-errors.jsonl"


@contextmanager
def locked(project: Project) -> Iterator[None]:
    """Another process holds the lock."""
    with Folder.root(str(project.state)) as state, lock.acquire(state):
        yield


def told(project: Project, event: str, **params: Json) -> dict[str, Json]:
    answer = guard.answer_event(event, {**OWN, **params}, Workspace(str(project.root)))
    ANSWERED.validate(answer)
    return answer


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard.begin, "__defaults__", (None, 0.01))


@pytest.mark.requirement("events.readable", "events.logged")
def test_agent_spawned_while_the_lock_is_held_gets_its_limits(working: Project) -> None:
    """An agent gets its limits and is recorded while the lock is held; the next event counts as its resume."""
    params = {"agent_name": "architect", "agent_id": "a1"}
    with locked(working):
        answer = told(working, "subagent_spawn", **params)
    right = told(working, "subagent_spawn", **params)
    assert {**answer, "resumed": True} == right
    assert answer["warnings"] == []
    assert "Write" in str(answer["disallowed_tools"])
    assert not (working.root / LOG).exists()


@pytest.mark.requirement("events.readable", "events.logged")
def test_unrecorded_agent_gets_its_limits_and_a_warning(working: Project) -> None:
    """An agent that cannot be recorded gets its restrictions; the failure is reported and logged."""
    (working.state / "claude-code").mkdir()
    (working.state / "claude-code/agents.extension.jsonl").symlink_to(working.root)
    with locked(working):
        answer = told(working, "subagent_spawn", agent_name="architect", agent_id="a1")
    assert answer["warnings"][0].startswith("The event subagent_spawn could not be handled: ")
    assert "Write" in str(answer["disallowed_tools"])
    assert [line["event"] for line in logged(working, LOG)] == ["subagent_spawn"]


@pytest.mark.requirement("events.readable")
def test_compaction_answers_even_if_nothing_can_be_stored(working: Project) -> None:
    """After a compaction every text is sent although the memory cannot be written, for either event."""
    with locked(working):
        for event, params in (("session_start", {"source": "compact"}), ("context_compact", {})):
            answer = told(working, event, **params)
            assert PLAN_TEXT in str(answer["context"])
            assert TASKS_TEXT in str(answer["context"])
            assert "Could not get the lock" in str(answer["warnings"])
    assert [line["event"] for line in logged(working, LOG)] == ["session_start"]


@pytest.mark.requirement("events.readable")
def test_failed_session_start_still_warns_about_open_work(working: Project) -> None:
    """A session that cannot be recorded still gets the warnings about open work."""
    with locked(working):
        answer = told(working, "session_start", source="startup")
    heads = ("The event session_start could not be handled: ", "plan.json is left ", "tasks.json is left ")
    assert all(one.startswith(head) for one, head in zip(answer["warnings"], heads, strict=True))


@pytest.mark.requirement("events.readable")
def test_failed_event_keeps_its_earlier_warnings(working: Project) -> None:
    """An event that fails at its end keeps the warnings that it had before."""
    with locked(working):
        answer = told(working, "session_end")
    first, second = answer["warnings"]
    assert first.startswith("The event session_end could not be handled: Could not get the lock")
    assert second.startswith("The session ends with unfinished work, tasks 2 (in_progress), 3 (pending)")
