"""task_update changes the status of a task."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Project, pretty, task, tasks

STATUSES = ("pending", "in_progress", "completed")


@pytest.mark.requirement("task_update.any", "task_update.result")
@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("after", STATUSES)
def test_any_status_may_follow_any_other(call: Client, project: Project, before: str, after: str) -> None:
    """Every status may follow every other, and nothing but the status changes."""
    other = task(1, deps=[2])
    changed = task(2, status=before, owner="o", note="n")
    project.put("state/tasks.json", tasks(other, changed, goal="g", decisions=["d"]))
    expected = {**changed, "status": after}
    assert call("task_update", id=2, status=after) == {"task": expected}
    assert project.get("state/tasks.json") == pretty(tasks(other, expected, goal="g", decisions=["d"]))


@pytest.mark.requirement("task_update.no-file")
def test_missing_file_is_refused_and_not_created(call: Client, project: Project) -> None:
    """Without a task file there is nothing to update, and none is made."""
    assert call.error("task_update", id=1, status="completed") == "tasks.json not found"
    assert not project.nexus.exists()


@pytest.mark.requirement("task_update.not-found")
@pytest.mark.parametrize(("given", "told"), [(2, "2"), (2.0, "2"), ("2", "2"), (2**64, str(2**64))])
def test_unknown_task_is_refused(call: Client, project: Project, given: Any, told: str) -> None:
    """The error has the unknown id."""
    project.put("state/tasks.json", tasks(task(1)))
    assert call.error("task_update", id=given, status="completed") == f"Task id {told} not found"


@pytest.mark.requirement("calls.types", "calls.missing", "tasks.task-status", "calls.ids")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({}, ["id is required", "status is required"]),
        ({"id": 1}, ["status is required"]),
        ({"id": 1, "status": "done"}, ["status"]),
        ({"id": 1, "status": ""}, ["status"]),
        ({"id": 1, "status": "Pending"}, ["status"]),
        ({"id": 1, "status": 1}, ["status"]),
        ({"id": 0, "status": "pending"}, ["id"]),
        ({"id": -1, "status": "pending"}, ["id"]),
        ({"id": 1.5, "status": "pending"}, ["id"]),
        ({"id": True, "status": "pending"}, ["id"]),
        ({"id": "true", "status": "pending"}, ["id"]),
        ({"id": float("inf"), "status": "pending"}, ["id"]),
        ({"id": float("-inf"), "status": "pending"}, ["id"]),
        ({"id": float("nan"), "status": "pending"}, ["id"]),
        ({"id": [1], "status": "done"}, ["id", "status"]),
    ],
)
def test_wrong_values_are_reported_together(
    call: Client, project: Project, arguments: dict[str, Any], names: list[str]
) -> None:
    """Wrong values are refused by name, all of them at once."""
    project.put("state/tasks.json", tasks(task(1)))
    faults = call.error("task_update", **arguments).split("; ")
    assert len(faults) == len(names)
    assert all(name in fault for name, fault in zip(names, faults, strict=True))


@pytest.mark.requirement("calls.number-text")
@pytest.mark.parametrize("given", [2, 2.0, "2", "2.0", "2e0", "0.2e1", "0.2E+1"])
def test_text_spelling_of_an_id_is_accepted(call: Client, project: Project, given: Any) -> None:
    """An id may be text in JSON's number grammar."""
    project.put("state/tasks.json", tasks(task(1), task(2)))
    assert call("task_update", id=given, status="completed")["task"]["id"] == 2


@pytest.mark.requirement("calls.number-grammar")
@pytest.mark.parametrize(
    "given",
    ["", " ", "+2", "02", "2.", ".2e1", "0x2", "1_0", "two", "2 ", " 2", "NaN", "Infinity", "-2", "2,0", "２", "1e999",
    "9" * 5001],
)  # fmt: skip
def test_text_that_is_no_number_is_refused(call: Client, project: Project, given: str) -> None:
    """Text outside JSON's grammar, or no id when read, is refused, and quickly so."""
    project.put("state/tasks.json", tasks(task(1), task(2), task(10)))
    message = call.error("task_update", id=given, status="completed")
    assert message.startswith(("id", "Task id 9")) or "id" in message.split()
    assert len(message) < 6000


@pytest.mark.requirement("files.ids")
def test_id_stored_as_a_fraction_is_found(call: Client, project: Project) -> None:
    """A task stored as 2.0 is found by 2 and answered as 2."""
    project.put("state/tasks.json", tasks(task(2.0)))
    answer = call("task_update", id=2, status="completed")
    assert answer == {"task": task(2, status="completed")}
    assert isinstance(answer["task"]["id"], int)
