"""Make rows of a task list: the state of each task, its unfinished dependencies, cycles, and the critical path.

Pure functions over tasks.json as a value. Apart from sorting, their time is linear in the number of tasks and
dependencies.
"""

from __future__ import annotations

from nexus_mcp.state.tasks import COMPLETED, IN_PROGRESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    Id = int | float

    class Row(TypedDict):
        """One task. `state` is one of STATES.

        `waits_for` has the ids of unfinished dependencies, `missing` those among them that no task has, and `blocks`
        the ids of unfinished tasks that depend on this one. `in_cycle`: the unfinished task depends on itself, directly
        or through other unfinished tasks, so it can never become ready. `is_critical`: it is on the critical path.
        """

        id: int
        title: str
        status: str
        state: str
        owner: str | None
        deps: list[Id]
        waits_for: list[Id]
        missing: list[Id]
        blocks: list[int]
        in_cycle: bool
        is_critical: bool
        plan_issue: int | None
        created_at: str


WAITING, READY, RUNNING, DONE = STATES = ("waiting", "ready", "in_progress", "done")
"""`waiting`: pending with an unfinished dependency; `ready`: pending without one."""


def rows(tasks: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each task of tasks.json or of a closed cycle, in the same order.

    Old cycles may lack fields, so a missing field has an empty value. A task whose id is no number is left out.
    """
    known = [task for task in tasks if _is_id(task.get("id"))]
    status = {task["id"]: task.get("status") for task in known}
    after = {task["id"]: _deps(task) for task in known}
    unfinished = {id_ for id_, value in status.items() if value != COMPLETED}
    blocks: dict[Any, list[int]] = {id_: [] for id_ in status}
    for task in known:
        if task["id"] in unfinished:
            for dep in dict.fromkeys(after[task["id"]]):
                if dep in blocks:
                    blocks[dep].append(task["id"])
    looping = {id_ for cycle in cycles(after, unfinished) for id_ in cycle}
    critical = set(critical_path(after, unfinished))
    return [
        {
            "id": task["id"],
            "title": _text(task, "title"),
            "status": _text(task, "status"),
            "state": _state(task.get("status"), waits),
            "owner": _text(task, "owner") or None,
            "deps": after[task["id"]],
            "waits_for": waits,
            "missing": [dep for dep in waits if dep not in status],
            "blocks": blocks[task["id"]],
            "in_cycle": task["id"] in looping,
            "is_critical": task["id"] in critical,
            "plan_issue": task["plan_issue"] if _is_id(task.get("plan_issue")) else None,
            "created_at": _text(task, "created_at"),
        }
        for task in known
        for waits in [[dep for dep in after[task["id"]] if status.get(dep) != COMPLETED]]
    ]


def counts(found: Sequence[Row]) -> dict[str, int]:
    """Return how many rows have each state of STATES, and `total`."""
    states = [row["state"] for row in found]
    return {"total": len(states), **{state: states.count(state) for state in STATES}}


def count_states(tasks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return `counts` for these tasks without making their rows, which would take milliseconds for 200 tasks."""
    known = [task for task in tasks if _is_id(task.get("id"))]
    done = {task["id"] for task in known if task.get("status") == COMPLETED}
    states = [_state(task.get("status"), [dep for dep in _deps(task) if dep not in done]) for task in known]
    return {"total": len(states), **{state: states.count(state) for state in STATES}}


def cycles(after: Mapping[Any, Sequence[Any]], among: Collection[Any]) -> list[list[Any]]:
    """Return the groups of ids in `among` that depend on each other, each sorted, in the order of their smallest ids.

    `after` maps an id to the ids that it depends on. These are the strongly connected components with more than one id,
    and the ids that depend on themselves (Tarjan's algorithm, without recursion).
    """
    found: list[list[Any]] = []
    number: dict[Any, int] = {}
    low: dict[Any, int] = {}
    stack: list[Any] = []
    on_stack: set[Any] = set()
    for root in among:
        if root in number:
            continue
        todo = [(root, iter(_within(after, root, among)))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while todo:
            id_, rest = todo[-1]
            for dep in rest:
                if dep not in number:
                    number[dep] = low[dep] = len(number)
                    stack.append(dep)
                    on_stack.add(dep)
                    todo.append((dep, iter(_within(after, dep, among))))
                    break
                if dep in on_stack:
                    low[id_] = min(low[id_], number[dep])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[id_])
                if low[id_] == number[id_]:
                    group: list[Any] = []
                    while not group or group[-1] != id_:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or id_ in after.get(id_, ()):
                        found.append(sorted(group))
    return sorted(found)


def critical_path(after: Mapping[Any, Sequence[Any]], among: Collection[Any]) -> list[Any]:
    """Return the longest chain of ids in `among` in which each id depends on the one before it; of several, one whose
    last id is smallest; [] if there is none.

    A chain of one id is no path. Ids in a cycle, and ids that wait for one, are left out: chains to them are endless.
    """
    users: dict[Any, list[Any]] = {id_: [] for id_ in among}
    open_deps: dict[Any, int] = {}
    for id_ in among:
        deps = set(_within(after, id_, among))
        open_deps[id_] = len(deps)
        for dep in deps:
            users[dep].append(id_)
    length: dict[Any, int] = {}
    before: dict[Any, Any] = {}
    free = [id_ for id_ in among if not open_deps[id_]]
    for id_ in free:  # grows: a queue of ids whose dependencies are all placed
        length.setdefault(id_, 1)
        for user in users[id_]:
            if length.get(user, 0) < length[id_] + 1:
                length[user], before[user] = length[id_] + 1, id_
            open_deps[user] -= 1
            if not open_deps[user]:
                free.append(user)
    ends = [id_ for id_ in free if length[id_] > 1]
    if not ends:
        return []
    at = max(ends, key=lambda id_: (length[id_], -id_))
    path = [at]
    while path[-1] in before:
        path.append(before[path[-1]])
    return path[::-1]


def _within(after: Mapping[Any, Sequence[Any]], id_: Any, among: Collection[Any]) -> list[Any]:
    return [dep for dep in after.get(id_, ()) if dep in among]


def _state(status: object, waits: Sequence[object]) -> str:
    if status == COMPLETED:
        return DONE
    if status == IN_PROGRESS:
        return RUNNING
    return WAITING if waits else READY


def _deps(task: Mapping[str, Any]) -> list[Any]:
    deps = task.get("deps")
    return [dep for dep in deps if _is_id(dep)] if isinstance(deps, list) else []


def _text(task: Mapping[str, Any], name: str) -> str:
    value = task.get(name)
    return value if isinstance(value, str) else ""


def _is_id(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
