"""States of tasks, cycles of dependencies and the critical path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.views.task_rows import count_states, counts, critical_path, cycles, rows
from tests.support import Json

STATUSES = ("pending", "in_progress", "completed", "other")


def _task(id_: int, deps: list[float], status: str = "pending", **more: Json) -> Json:
    return {"id": id_, "title": f"Task {id_}", "context": "c", "status": status, "deps": deps, "created_at": "", **more}


def test_the_state_follows_from_status_and_dependencies() -> None:
    """A pending task is ready when all its dependencies are completed, else it waits for the unfinished ones."""
    found = rows([_task(1, [], "completed"), _task(2, [1], "in_progress"), _task(3, [1]), _task(4, [1, 2, 9])])
    assert [(row["state"], row["waits_for"], row["missing"], row["blocks"]) for row in found] == [
        ("done", [], [], [2, 3, 4]),
        ("in_progress", [], [], [4]),
        ("ready", [], [], []),
        ("waiting", [2, 9], [9], []),
    ]
    assert counts(found) == {"total": 4, "waiting": 1, "ready": 1, "in_progress": 1, "done": 1}


@given(st.lists(st.tuples(st.lists(st.integers(0, 6), max_size=3), st.sampled_from(STATUSES)), max_size=6))
def test_states_are_counted_as_in_the_rows(found: list[tuple[list[float], str]]) -> None:
    """Counting without rows gives the numbers of the rows, also for statuses that do not exist."""
    tasks = [_task(1 + number, deps, status) for number, (deps, status) in enumerate(found)]
    assert count_states(tasks) == counts(rows(tasks))


def test_tasks_that_depend_on_each_other_are_marked() -> None:
    """Tasks of a cycle, and a task that depends on itself, are in a cycle; a task that waits for one is not."""
    found = rows([_task(1, [2]), _task(2, [1]), _task(3, [3]), _task(4, [1])])
    assert [row["in_cycle"] for row in found] == [True, True, True, False]


def test_a_completed_task_ends_a_cycle() -> None:
    """A completed task holds nobody up, so there is no cycle any more."""
    assert [row["in_cycle"] for row in rows([_task(1, [2], "completed"), _task(2, [1])])] == [False, False]


def test_rows_of_an_old_cycle_may_lack_fields() -> None:
    """A task without fields gets empty values, one without a number as id is left out."""
    found = rows([{"id": 1}, {"title": "no id"}, {"id": 2, "deps": "1", "owner": 3, "title": None}])
    assert [(row["id"], row["title"], row["owner"], row["deps"]) for row in found] == [
        (1, "", None, []),
        (2, "", None, []),
    ]


def test_the_critical_path_is_the_longest_chain() -> None:
    """The path lists ids, first step first; single tasks are no path, and cycles are left out."""
    after = {1: [], 2: [1], 3: [2], 4: [1], 5: [6], 6: [5], 7: [6]}
    assert critical_path(after, after) == [1, 2, 3]
    assert critical_path({1: [], 2: []}, {1, 2}) == []
    assert critical_path({1: [2], 2: [1]}, {1, 2}) == []


_GRAPHS = st.dictionaries(st.integers(1, 7), st.lists(st.integers(1, 8), max_size=4), max_size=7)


@given(_GRAPHS)
def test_cycles_are_the_groups_that_reach_each_other(after: dict[int, list[int]]) -> None:
    """Two ids are in one group if each reaches the other, as a search from each id finds it."""
    reach = {id_: _reached(after, id_) for id_ in after}
    wanted = {tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in after if a in reach[a]}
    assert {tuple(group) for group in cycles(after, after)} == wanted


@given(_GRAPHS)
def test_the_critical_path_is_as_long_as_any_chain(after: dict[int, list[int]]) -> None:
    """No chain that reaches no cycle is longer, and each id depends on the one before it."""
    path = critical_path(after, after)
    assert all(before in after[id_] for before, id_ in pairwise(path))
    free = [
        id_
        for id_ in after
        if not any(one in _reached(after, one) for one in {id_, *_reached(after, id_)} & set(after))
    ]
    longest = max((_depth(after, id_) for id_ in free), default=0)
    assert len(path) == (longest if longest > 1 else 0)


def _reached(after: dict[int, list[int]], id_: int) -> set[int]:
    found: set[int] = set()
    todo = [dep for dep in after[id_] if dep in after]
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += [dep for dep in after[at] if dep in after]
    return found


def _depth(after: dict[int, list[int]], id_: int) -> int:
    return 1 + max((_depth(after, dep) for dep in after[id_] if dep in after), default=0)


def test_thousands_of_tasks_in_one_chain() -> None:
    """A chain of 20 000 tasks needs no deep recursion."""
    after: dict[Any, list[Any]] = {id_: [id_ - 1] if id_ > 1 else [] for id_ in range(1, 20_001)}
    assert critical_path(after, after) == list(after)
    after[1] = [20_000]
    assert cycles(after, after) == [list(after)]
