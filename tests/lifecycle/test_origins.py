"""The origin of a message: only the words of the user have tags."""

from __future__ import annotations

import pytest

from tests.lifecycle.support import Teller, put
from tests.support import Project, task, tasks


@pytest.mark.requirement("user_message.origin")
@pytest.mark.parametrize("origin", ["agent", "command", "system", "somebody"])
def test_message_of_another_origin_has_no_tags(tell: Teller, project: Project, origin: str) -> None:
    """A report with [m] makes no note, and [plan] in it starts no skill; the progress is sent."""
    put(project, ".nexus/state/tasks.json", tasks(task(1)))
    answer = tell("user_message", prompt="[m] note: Locks are slow. [plan] a cache", origin=origin)
    assert answer["tags"] == []
    assert "nx-plan" not in answer["context"]
    assert "Tasks: 1 in all" in answer["context"]
    assert not (project.root / ".nexus" / "memory").exists()


def test_progress_is_sent_only_when_it_changed(tell: Teller, project: Project) -> None:
    """Within a session a message has the progress only if it changed, and says when plan and tasks are gone."""
    path = put(project, ".nexus/state/tasks.json", tasks(task(1)))
    tell("session_start", session_id="s", source="startup")
    first = tell("user_message", session_id="s", prompt="Go on.")
    assert "Tasks: 1 in all" in first["context"]
    assert "context" not in tell("user_message", session_id="s", prompt="Go on.")
    put(project, ".nexus/state/tasks.json", tasks(task(1, status="completed")))
    assert "1 completed" in tell("user_message", session_id="s", prompt="Go on.")["context"]
    (project.state / "tasks.json").unlink()
    assert "There is no task list any more." in tell("user_message", session_id="s", prompt="Go on.")["context"]
    assert "context" not in tell("user_message", session_id="s", prompt="Go on.")
    (project.state / "tasks.json").write_bytes(path)
    tell("session_start", session_id="s", source="clear")
    assert "Tasks: 1 in all" in tell("user_message", session_id="s", prompt="Go on.")["context"]


def test_messages_without_a_session_get_the_state_each_time(tell: Teller, project: Project) -> None:
    """Without a session id nothing is known of earlier messages, so each gets the state."""
    put(project, ".nexus/state/tasks.json", tasks(task(1)))
    answers = [tell("user_message", prompt="Go on.") for _ in range(2)]
    assert answers[0] == answers[1]
    assert "Tasks: 1 in all" in answers[0]["context"]
