"""Find dependency cycles between tasks.

Without recursion: a chain may have a hundred thousand links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from typing import TypeVar

    Id = TypeVar("Id", bound=Hashable)


def find_cycles(depends_on: Mapping[Id, Sequence[Id]]) -> Iterator[list[Id]]:
    """Yield one shortest cycle per strongly connected component, e.g. [1, 3] when 1 and 3 depend on each other.

    A task that depends on itself is a cycle, too. Dependencies without an entry of their own are ignored.
    """
    place = {task: number for number, task in enumerate(depends_on)}
    for component in _components(depends_on):
        if len(component) > 1 or component[0] in depends_on[component[0]]:
            yield _shortest_cycle(min(component, key=place.__getitem__), depends_on, set(component))


def _components(depends_on: Mapping[Id, Sequence[Id]]) -> Iterator[list[Id]]:
    """Yield the strongly connected components, by Tarjan's algorithm."""
    order: dict[Id, int] = {}
    low: dict[Id, int] = {}
    path: list[Id] = []
    on_path: set[Id] = set()
    for start in depends_on:
        if start in order:
            continue
        order[start] = low[start] = len(order)
        path.append(start)
        on_path.add(start)
        work = [(start, iter(depends_on[start]))]
        while work:
            task, rest = work[-1]
            following = next((one for one in rest if one in depends_on and (one not in order or one in on_path)), None)
            if following is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[task])
                if low[task] == order[task]:
                    yield _pop_component(path, on_path, task)
            elif following in order:
                low[task] = min(low[task], order[following])
            else:
                order[following] = low[following] = len(order)
                path.append(following)
                on_path.add(following)
                work.append((following, iter(depends_on[following])))


def _pop_component(path: list[Id], on_path: set[Id], last: Id) -> list[Id]:
    component = []
    while True:
        task = path.pop()
        on_path.discard(task)
        component.append(task)
        if task == last:
            return component


def _shortest_cycle(start: Id, depends_on: Mapping[Id, Sequence[Id]], inside: set[Id]) -> list[Id]:
    """Return a shortest path from `start` back to it, by breadth-first search."""
    previous: dict[Id, Id] = {}
    level = [start]
    while level:
        following: list[Id] = []
        for task in level:
            for one in depends_on[task]:
                if one == start:
                    path = [task]
                    while path[-1] != start:
                        path.append(previous[path[-1]])
                    return path[::-1]
                if one in inside and one not in previous:
                    previous[one] = task
                    following.append(one)
        level = following
    raise ValueError("the tasks do not depend on each other")
