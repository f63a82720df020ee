"""turn_end tells the model once to close a finished cycle, and the model can always stop."""

from __future__ import annotations

import pytest

from nexus_mcp.lifecycle.session_memory import SessionMemory
from tests.lifecycle.support import Teller, put
from tests.support import Json, Project, task, tasks

TASKS = ".nexus/state/tasks.json"
CONFIG = ".nexus/config.yml"


@pytest.fixture
def finished(project: Project) -> Project:
    """A project whose only task is completed, and whose cycle is open."""
    put(project, TASKS, tasks(task(1, status="completed")))
    return project


def end(tell: Teller, **params: Json) -> str:
    decision: str = tell("turn_end", **{"session_id": "s", **params})["decision"]
    return decision


@pytest.mark.requirement("turn_end.once")
def test_finished_cycle_is_mentioned_once(tell: Teller, finished: Project) -> None:
    """The first end of a turn is blocked, with the call to make; no later one is, not even after a message."""
    answer = tell("turn_end", session_id="s")
    assert answer["decision"] == "block"
    assert answer["reason"].startswith("The only task is completed, but the cycle is not closed. Call task_close")
    assert [end(tell), end(tell)] == ["continue", "continue"]
    tell("user_message", session_id="s", prompt="Go on.")
    assert end(tell) == "continue"


def test_two_ends_at_the_same_time_are_blocked_once(
    tell: Teller, finished: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An end of the turn that is decided between the reading and the writing of another one is blocked; the other one
    is not.
    """
    save, others = SessionMemory.save, []

    def save_late(memory: SessionMemory, *arguments: Json) -> bool:
        monkeypatch.setattr(SessionMemory, "save", save)
        others.append(end(tell))
        return save(memory, *arguments)

    monkeypatch.setattr(SessionMemory, "save", save_late)
    assert [end(tell), *others] == ["continue", "block"]


def test_new_tasks_are_a_new_state(tell: Teller, finished: Project) -> None:
    """More tasks, completed again, are mentioned again, once the turn after the block is over."""
    assert end(tell) == "block"
    put(finished, TASKS, tasks(task(1, status="completed"), task(2, status="completed")))
    assert [end(tell), end(tell), end(tell)] == ["continue", "block", "continue"]


def test_continued_turn_is_not_blocked(tell: Teller, finished: Project) -> None:
    """A turn that continues because of a hook is not blocked; the next one is."""
    assert [end(tell, stop_hook_active=True), end(tell)] == ["continue", "block"]


def test_each_session_is_blocked_once(tell: Teller, finished: Project) -> None:
    """Each session is blocked once."""
    assert [end(tell), end(tell, session_id="t"), end(tell)] == ["block", "block", "continue"]


@pytest.mark.parametrize("status", ["pending", "in_progress"])
def test_unfinished_tasks_let_the_model_stop(tell: Teller, project: Project, status: str) -> None:
    """With open tasks the model may stop, because it may need an answer of the user."""
    put(project, TASKS, tasks(task(1, status="completed"), task(2, status=status)))
    assert end(tell) == "continue"


def test_nonstop_goes_on_with_nx_run(tell: Teller, project: Project) -> None:
    """With gates.nonstop a turn under nx-run is blocked once for each state of the tasks."""
    put(project, TASKS, tasks(task(1), task(2)))
    put(project, CONFIG, "gates:\n  nonstop: true\n")
    assert end(tell) == "continue"
    tell("user_message", session_id="s", prompt="[run]")
    assert [end(tell), end(tell), end(tell)] == ["block", "continue", "continue"]
    put(project, TASKS, tasks(task(1, status="completed"), task(2)))
    assert [end(tell), end(tell)] == ["block", "continue"]


def test_memory_that_cannot_be_written_never_blocks(tell: Teller, finished: Project) -> None:
    """If the session's memory cannot be written, the model may stop: otherwise each end would be blocked."""
    (finished.state / "nexus-mcp").mkdir()
    (finished.state / "nexus-mcp" / "remembered.extension.json").mkdir()
    answer = tell("turn_end", session_id="s")
    assert answer["decision"] == "continue"
    assert "could not be saved" in answer["warnings"][0]


def test_malformed_task_list_lets_the_model_stop(tell: Teller, project: Project) -> None:
    """A task list that cannot be read is a warning, not a block."""
    put(project, TASKS, "{")
    answer = tell("turn_end", session_id="s")
    assert (answer["decision"], len(answer["warnings"])) == ("continue", 1)
