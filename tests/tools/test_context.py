"""context returns branch, goal and progress."""

from __future__ import annotations

import pytest

from tests.support import Client, Project, plan, task, tasks


@pytest.mark.requirement("context.result", "context.mode", "context.decisions", "tree.reads")
def test_context_without_tasks_has_no_summary(call: Client, project: Project) -> None:
    """Without a task file there is no mode, no goal and no summary."""
    assert call("context") == {"branch": "main", "activeMode": None, "decisions": []}
    assert not project.nexus.exists()


@pytest.mark.requirement("context.result", "context.mode")
def test_a_plan_is_no_team(call: Client, project: Project) -> None:
    """A plan alone does not make a mode."""
    project.put("state/plan.json", plan())
    assert call("context") == {"branch": "main", "activeMode": None, "decisions": []}


@pytest.mark.requirement("context.result", "context.mode", "context.summary", "context.decisions")
def test_context_counts_pending_tasks(call: Client, project: Project) -> None:
    """Pending counts status pending exactly: those in progress are in the total alone."""
    stored = [
        task(1, status="completed"),
        task(2, status="in_progress"),
        task(3),
        task(4),
        task(5, status="in_progress"),
    ]
    project.put("state/tasks.json", tasks(*stored, goal="Ship", decisions=["a", "", "a"]))
    assert call("context") == {
        "branch": "main",
        "activeMode": "team",
        "goal": "Ship",
        "tasksSummary": {"total": 5, "completed": 1, "pending": 2},
        "decisions": ["a", "", "a"],
    }


@pytest.mark.requirement("context.result")
def test_empty_goal_is_answered(call: Client, project: Project) -> None:
    """An empty goal is returned unchanged."""
    project.put("state/tasks.json", tasks())
    assert call("context") == {
        "branch": "main",
        "activeMode": "team",
        "goal": "",
        "tasksSummary": {"total": 0, "completed": 0, "pending": 0},
        "decisions": [],
    }


@pytest.mark.requirement("context.broken")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"goal": 1}', b"\xff\xfe", b'{"goal":"","decisions":[],"tasks":[{}]}', b"\x00",
    ],
)  # fmt: skip
def test_context_treats_broken_tasks_as_absent(call: Client, project: Project, content: bytes) -> None:
    """A broken task file counts as absent and stays unchanged."""
    project.put("state/tasks.json", content)
    assert call("context") == {"branch": "main", "activeMode": None, "decisions": []}
    assert project.get("state/tasks.json") == content


@pytest.mark.requirement("context.broken")
def test_other_broken_files_do_not_matter(call: Client, project: Project) -> None:
    """The answer depends on neither plan nor history."""
    project.put("state/plan.json", b"{")
    project.put("history.json", b"{")
    assert call("context")["branch"] == "main"


@pytest.mark.requirement("files.surrogates")
def test_lone_surrogate_becomes_replacement_character(call: Client, project: Project) -> None:
    """A lone surrogate is shown as the replacement character."""
    project.put("state/tasks.json", b'{"goal": "a\\udc00", "decisions": ["\\ud800\\ud800"], "tasks": []}')
    answer = call("context")
    assert (answer["goal"], answer["decisions"]) == ("a\ufffd", ["\ufffd\ufffd"])
