"""Which tasks wait for each other: pure, and without recursion, for a chain may have a hundred thousand links."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from typing import TypeVar

    Id = TypeVar("Id", bound=Hashable)


def cycles(waits_for: Mapping[Id, Sequence[Id]]) -> Iterator[list[Id]]:
    """One cycle out of each knot of tasks that wait for each other: [1, 3] for 1 that waits for 3 that waits for 1.

    A task that waits for itself is a knot, too. What is waited for and has no entry of its own is left out.
    """
    place = {task: number for number, task in enumerate(waits_for)}
    for knot in _knots(waits_for):
        if len(knot) > 1 or knot[0] in waits_for[knot[0]]:
            yield _around(min(knot, key=place.__getitem__), waits_for, set(knot))


def _knots(waits_for: Mapping[Id, Sequence[Id]]) -> Iterator[list[Id]]:
    """The strongly connected components (Tarjan), each with its tasks."""
    order: dict[Id, int] = {}
    low: dict[Id, int] = {}
    path: list[Id] = []
    on_path: set[Id] = set()
    for start in waits_for:
        if start in order:
            continue
        order[start] = low[start] = len(order)
        path.append(start)
        on_path.add(start)
        work = [(start, iter(waits_for[start]))]
        while work:
            task, rest = work[-1]
            following = next((one for one in rest if one in waits_for and (one not in order or one in on_path)), None)
            if following is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[task])
                if low[task] == order[task]:
                    yield _popped(path, on_path, task)
            elif following in order:
                low[task] = min(low[task], order[following])
            else:
                order[following] = low[following] = len(order)
                path.append(following)
                on_path.add(following)
                work.append((following, iter(waits_for[following])))


def _popped(path: list[Id], on_path: set[Id], last: Id) -> list[Id]:
    knot = []
    while True:
        task = path.pop()
        on_path.discard(task)
        knot.append(task)
        if task == last:
            return knot


def _around(start: Id, waits_for: Mapping[Id, Sequence[Id]], inside: set[Id]) -> list[Id]:
    """A shortest way from `start` back to it, by breadth."""
    came_from: dict[Id, Id] = {}
    level = [start]
    while level:
        following: list[Id] = []
        for task in level:
            for one in waits_for[task]:
                if one == start:
                    way = [task]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return way[::-1]
                if one in inside and one not in came_from:
                    came_from[one] = task
                    following.append(one)
        level = following
    raise ValueError("the tasks do not wait for each other")
