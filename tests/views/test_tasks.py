"""The views `tasks` and `task`: filters, reasons, problems."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.views import task_rows, tasks
from tests.support import Json


def _task(id_: int, deps: list[float], status: str = "pending", **more: Json) -> Json:
    return {"id": id_, "title": f"Task {id_}", "context": "c", "status": status, "deps": deps, "created_at": "", **more}


def _rows(*found: Json) -> list[Any]:
    return task_rows.rows(found)


LIST = (_task(1, [], "completed"), _task(2, [], "in_progress", owner="Engineer"), _task(3, [1]), _task(4, [2, 3, 99]))


@pytest.mark.parametrize(
    ("id_", "wanted"),
    [
        (2, ""),
        (3, ""),
        (4, "task 4 waits for 2 (in progress, owner Engineer), 3 (ready) and 99 (no such task)"),
    ],
)
def test_the_reason_names_each_unfinished_task(id_: int, wanted: str) -> None:
    """Only a waiting task has one."""
    known = tasks.by_id(_rows(*LIST))
    assert tasks.reason(known[id_], known) == wanted


def test_a_long_reason_counts_the_rest() -> None:
    """At most eight tasks are named."""
    rows = _rows(*(_task(number, []) for number in range(1, 12)), _task(12, list(range(1, 12))))
    assert tasks.waits(rows[-1], tasks.by_id(rows)).endswith("8 (ready) and 3 more")


def test_problems_are_cycles_and_missing_tasks() -> None:
    """A task that waits for itself, tasks that wait for each other, and ids that no task has."""
    rows = _rows(_task(1, [1]), _task(2, [3]), _task(3, [2]), _task(4, [98, 99]), _task(5, [97], "completed"))
    assert tasks.problems(rows, tasks.cycles(rows)) == [
        "Task 1 waits for itself and can never be ready.",
        "Tasks 2, 3 wait for each other, so none of them can be ready.",
        "Task 4 waits for 98, 99, which are no tasks.",
    ]


def test_tasks_without_a_list_are_empty() -> None:
    """Without tasks.json all fields are empty."""
    view = tasks.tasks(None)
    assert (view["goal"], view["tasks"], view["owners"], view["counts"]["total"]) == ("", [], [], 0)


def test_an_owner_matches_in_any_case() -> None:
    """States and owner both have to match; counts and owners are those of the whole list."""
    document = {"goal": "g", "decisions": [], "tasks": list(LIST)}
    view = tasks.tasks(document, owner="engineer")
    assert [row["id"] for row in view["tasks"]] == [2]
    assert (view["counts"]["total"], view["owners"]) == (4, ["Engineer"])
    assert tasks.tasks(document, states=("ready",), owner="engineer")["tasks"] == []


def test_a_task_has_its_neighbours_and_its_issue() -> None:
    """The issue is that of the plan; without a plan, or with another one, there is none."""
    document = {"goal": "", "decisions": [], "tasks": [*LIST, _task(5, [], plan_issue=7)]}
    view = tasks.task(document, document["tasks"][3], None)
    assert [(one["id"], one["state"], one["owner"]) for one in view["waits_for"]] == [
        (2, "in_progress", "Engineer"),
        (3, "ready", None),
        (99, "missing", None),
    ]
    assert (view["blocks"], view["cycle"], view["issue"]) == ([], [], None)
    plan = {"issues": [{"id": 7, "title": "Which?", "status": "pending"}]}
    assert tasks.task(document, document["tasks"][4], plan)["issue"] == plan["issues"][0]
