"""task_list returns the tasks and the ids of the ready ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Project, pretty, task, tasks


@pytest.mark.requirement("task_list.none", "tree.reads")
def test_missing_file_is_answered_with_exists_false(call: Client, project: Project) -> None:
    """Without a file the answer is exists false alone."""
    assert call("task_list") == {"exists": False}
    assert not project.nexus.exists()


@pytest.mark.requirement("task_list.result")
def test_empty_file_has_no_exists_key(call: Client, project: Project) -> None:
    """A file without tasks is answered without an exists key, and without its decisions."""
    project.put("state/tasks.json", tasks(goal="", decisions=["d"]))
    assert call("task_list") == {
        "goal": "",
        "tasks": [],
        "summary": {"total": 0, "completed": 0, "pending": 0, "blocked": 0, "ready": []},
    }


@pytest.mark.requirement("task_list.result", "task_list.counts", "task_list.ready", "task_list.unknown-dep")
def test_ready_tasks_come_in_file_order(call: Client, project: Project) -> None:
    """The ready ones are pending with all deps completed, in file order."""
    stored = [
        task(9, deps=[1]),
        task(1, status="completed"),
        task(2, status="in_progress"),
        task(3, deps=[1, 2]),
        task(4, deps=[99]),
        task(5, status="completed", deps=[3]),
        task(6, deps=[5, 1, 5], owner="x", extra={"k": None}),
        task(7, deps=[7]),
        task(8),
        task(10, status="in_progress", deps=[1]),
    ]
    project.put("state/tasks.json", tasks(*stored, goal="Ship"))
    assert call("task_list") == {
        "goal": "Ship",
        "tasks": stored,
        "summary": {"total": 10, "completed": 2, "pending": 6, "blocked": 2, "ready": [9, 6, 8]},
    }


@pytest.mark.requirement("files.ids", "files.tolerated")
def test_fractional_ids_are_answered_as_integers(call: Client, project: Project) -> None:
    """2.0 in the file is 2: in the answer, and where a dep names it."""
    stored = [task(1.0, status="completed"), task(2, deps=[1.0]), task(3.0, deps=[1])]
    project.put("state/tasks.json", tasks(*stored))
    answer = call("task_list")
    assert answer["summary"]["ready"] == [2, 3]
    numbers = [number for item in answer["tasks"] for number in (item["id"], *item["deps"])]
    assert numbers == [1, 2, 1, 3, 1]
    assert all(isinstance(number, int) for number in (*numbers, *answer["summary"]["ready"]))


@pytest.mark.requirement("task_list.ready")
def test_repeated_id_counts_as_completed_once_one_is(call: Client, project: Project) -> None:
    """After a merge an id may occur twice; a dep on it is met if one of the two is completed."""
    project.put("state/tasks.json", tasks(task(1, status="completed"), task(1), task(2, deps=[1])))
    assert call("task_list")["summary"]["ready"] == [1, 2]


def without(value: Any, name: str) -> Any:
    return {key: member for key, member in value.items() if key != name}


@pytest.mark.requirement("files.broken", "files.broken-told", "files.broken-quiet")
@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"{", "tasks.json"),
        (b"[]", "tasks.json"),
        (b'{"decisions":[],"tasks":[]}', "goal"),
        (b'{"goal":"SECRET","tasks":[]}', "decisions"),
        (b'{"goal":"SECRET","decisions":[]}', "tasks"),
        (b'{"goal":null,"decisions":[],"tasks":[]}', "goal"),
        (b'{"goal":"","decisions":["a",1],"tasks":[]}', "/decisions/1"),
        (pretty(tasks({**task(1), "status": "SECRET"})), "/tasks/0/status"),
        (pretty(tasks({**task(1), "deps": ["1"]})), "/tasks/0/deps/0"),
        *((pretty(tasks(without(task(1), name))), f"/tasks/0/{name}") for name in ("title", "deps", "created_at")),
    ],
)  # fmt: skip
def test_broken_file_is_an_error_with_its_place(call: Client, project: Project, content: bytes, place: str) -> None:
    """A broken file is an error with the place, not the content."""
    project.put("state/tasks.json", content)
    message = call.error("task_list")
    assert "tasks.json" in message
    assert place in message
    assert "SECRET" not in message


ODD: list[dict[str, Any]] = [
    {"owner": 5}, {"plan_issue": "x"}, {"owner_reuse_policy": "always"}, {"risk": None}, {"title": ""},
]  # fmt: skip


@pytest.mark.requirement("files.tolerated")
@pytest.mark.parametrize("odd", ODD)
def test_odd_optional_values_are_answered(call: Client, project: Project, odd: dict[str, Any]) -> None:
    """An odd optional value or a blank text is returned unchanged."""
    stored = {**task(1), **odd}
    project.put("state/tasks.json", tasks(stored))
    assert call("task_list")["tasks"] == [stored]
