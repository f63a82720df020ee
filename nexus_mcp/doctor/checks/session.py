"""Check plan.json, tasks.json and the JSON files of harnesses: their shapes, and the references between ids."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.finding import Finding
from nexus_mcp.doctor.values import format_id, format_ids
from nexus_mcp.state import tracker
from nexus_mcp.store.codec import decode
from nexus_mcp.store.journal import SESSION_LIMIT

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from nexus_mcp.doctor.site import Site

    Id = TypeVar("Id", bound=Hashable)

PLAN = ".nexus/state/plan.json"
TASKS = ".nexus/state/tasks.json"


def check_shapes(site: Site) -> Iterator[Finding]:
    """Yield findings for session files and trackers that are not JSON, break their schema, are too new or have bad
    times, and for extension files of harnesses that are not JSON.
    """
    yield from site.plan.findings
    yield from site.tasks.findings
    for entry in site.files(places.TRACKER):
        yield from documents.load_checked(site, entry, tracker.SCHEMA).findings
    for entry in site.files(places.EXTENSION):
        # The file only has to be JSON, because the harness defines its content.
        yield from documents.load(site, entry, SESSION_LIMIT, partial(decode, file=entry.path))[1]


def check_references(site: Site) -> Iterator[Finding]:
    """Yield repeated ids, missing dependencies, dependency cycles, and tasks whose issue is not in an open plan."""
    plan, tasks = site.plan.value, site.tasks.value
    if plan is not None:
        yield from _find_repeated(plan["issues"], PLAN, "/issues", "issue")
    if tasks is None:
        return
    rows = tasks["tasks"]
    yield from _find_repeated(rows, TASKS, "/tasks", "task")
    yield from _dependencies(rows)
    if plan is not None:
        yield from _missing_issues(rows, {issue["id"] for issue in plan["issues"]})
    elif not site.plan.findings:
        yield from _without_plan(rows)


def _find_repeated(rows: list[dict[str, Any]], file: str, pointer: str, what: str) -> Iterator[Finding]:
    count = Counter(row["id"] for row in rows)
    seen: set[float] = set()
    for index, row in enumerate(rows):
        if count[row["id"]] > 1 and row["id"] in seen:
            problem = f"has another {what} with the id {format_id(row['id'])}"
            yield Finding(f"repeated-{what}-id", file, problem, f"{pointer}/{index}/id")
        seen.add(row["id"])


def _dependencies(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    depends_on: dict[float, list[float]] = {}
    places: dict[float, int] = {}
    for index, row in enumerate(rows):
        depends_on.setdefault(row["id"], []).extend(row["deps"])
        places.setdefault(row["id"], index)
    for index, row in enumerate(rows):
        missing = list(dict.fromkeys(dep for dep in row["deps"] if dep not in depends_on))
        if missing:
            problem = f"has task {format_id(row['id'])}, which depends on {format_ids(missing)}: no such task"
            yield Finding("missing-dependency", TASKS, problem, f"/tasks/{index}/deps")
    for component in find_cycles(depends_on):
        around = format_ids([*component, component[0]], " -> ")
        alone = f"has task {format_id(component[0])}, which depends on itself"
        problem = f"has tasks that depend on each other in a cycle: {around}" if len(component) > 1 else alone
        yield Finding("dependency-cycle", TASKS, problem, f"/tasks/{places[component[0]]}/deps")


def _missing_issues(rows: list[dict[str, Any]], known: set[float]) -> Iterator[Finding]:
    for index, row in enumerate(rows):
        wanted = row.get("plan_issue")
        if isinstance(wanted, (int, float)) and wanted not in known:
            problem = f"has task {format_id(row['id'])} for issue {format_id(wanted)}, which is not in the plan"
            yield Finding("missing-issue", TASKS, problem, f"/tasks/{index}/plan_issue")


def _without_plan(rows: list[dict[str, Any]]) -> Iterator[Finding]:
    named = [row["id"] for row in rows if row.get("plan_issue") is not None]
    if named:
        tasks = "task" if len(named) == 1 else "tasks"
        yield Finding("no-plan", TASKS, f"names plan issues in {tasks} {format_ids(named)}, but there is no plan")


def find_cycles(depends_on: Mapping[Id, Sequence[Id]]) -> Iterator[list[Id]]:
    """Yield one cycle for each strongly connected component that has one: the shortest through its first task.

    Yield [1, 3] when 1 and 3 depend on each other, and [1] when 1 depends on itself. Ignore dependencies that are not
    keys of `depends_on`. Use no recursion, because a chain may have 100 000 tasks.
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
    """Return the tasks of a shortest cycle through `start` within `inside`, by breadth-first search."""
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
