"""Compute which tasks may start now, from the task list, the state of the run, and the files of each task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nexus_mcp.catalog.target_files import FIELDS, of_task
from nexus_mcp.run.projection import ENDED, RunRecord, TaskState
from nexus_mcp.state.tasks import COMPLETED

_RUNNING: frozenset[TaskState] = frozenset(("running", "merging"))


class FilesOfTasks:
    """The paths of the files of each task: tasks with a common file must not run at the same time.

    The texts of a task are searched again only if they changed.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def of(
        self, tasks: Sequence[dict[str, Any]], extension: dict[int, Sequence[str]], root: str
    ) -> dict[int, list[str]]:
        """Return task id -> the paths in the task's texts, and those that `extension` has for the task."""
        found = {}
        for task in tasks:
            texts = {name: task.get(name) for name in FIELDS}
            known = self._known.get(task["id"])
            if known is None or known[0] != texts:
                known = self._known[task["id"]] = (texts, of_task(task, root))
            found[task["id"]] = [*known[1], *extension.get(task["id"], ())]
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks that wait for their start: `ready` has the ids that can start now, in file order, `blocked` maps the id
    of a task that cannot start to the reason, and `waiting` has the ids that can start later.
    """

    ready: tuple[int, ...]
    blocked: dict[int, str]
    waiting: tuple[int, ...]


def plan(
    tasks: Sequence[Mapping[str, Any]],
    run: RunRecord,
    files: Mapping[int, Collection[str]],
    *,
    chosen: Collection[int] | None,
    is_isolated: bool,
) -> Plan:
    """Return the tasks that can start now or later, and those that cannot, with the reason.

    `tasks` are those of tasks.json, `files` maps a task id to the paths of its files (a folder ends with `/`), and
    `chosen` has the ids that the run works on, or is None for all. A task can start now if all its dependencies are
    completed, and if no task that runs or starts before it has one of its files. A dependency that this run carried out
    must be merged, too. A task without files runs alone unless each attempt has its own worktree (`is_isolated`).
    """
    status = {task["id"]: task.get("status") for task in tasks}
    busy = [task["id"] for task in tasks if run.task(task["id"]).state in _RUNNING]
    ready: list[int] = []
    waiting: list[int] = []
    blocked: dict[int, str] = {}
    for task in tasks:
        id_ = task["id"]
        record = run.task(id_)
        if (
            (chosen is not None and id_ not in chosen)
            or status[id_] == COMPLETED
            or record.state in ENDED - {"blocked"}
        ):
            continue
        if record.state in _RUNNING:
            continue
        reason = _why_blocked(task, status, run, chosen)
        if reason:
            blocked[id_] = reason
        elif all(_is_merged(dep, status, run) for dep in task.get("deps", ())):
            at_work = [*busy, *ready]
            if _may_run(id_, at_work, files, is_isolated=is_isolated):
                ready.append(id_)
            else:
                waiting.append(id_)
        else:
            waiting.append(id_)
    return Plan(tuple(ready), blocked, tuple(waiting))


def waves(tasks: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Return the ids of the unfinished tasks in groups, each of which can start when the groups before it are done.

    Tasks that depend on a missing task or on each other in a cycle are in no group, and neither are tasks that depend
    on such tasks.
    """
    done = {task["id"] for task in tasks if task.get("status") == COMPLETED}
    left = [task for task in tasks if task["id"] not in done]
    found: list[list[int]] = []
    while now := [task["id"] for task in left if done.issuperset(task.get("deps", ()))]:
        found.append(now)
        done.update(now)
        left = [task for task in left if task["id"] not in done]
    return found


def overlap(one: Collection[str], other: Collection[str]) -> bool:
    """Return whether two sets of paths have a path in common; a path that ends with `/` has all paths below it."""
    return any(_covers(a, b) or _covers(b, a) for a in one for b in other)


def _covers(target: str, path: str) -> bool:
    return path == target or (target.endswith("/") and path.startswith(target))


def _why_blocked(
    task: Mapping[str, Any], status: Mapping[Any, Any], run: RunRecord, chosen: Collection[int] | None
) -> str:
    for dep in task.get("deps", ()):
        if dep not in status:
            return f"it depends on task {dep}, which does not exist"
        state = run.task(dep).state
        if status[dep] != COMPLETED and state in ENDED:
            return f"task {dep} is {state}"
        if status[dep] != COMPLETED and chosen is not None and dep not in chosen:
            return f"task {dep} is not completed and not part of this run"
    return ""


def _is_merged(dep: int, status: Mapping[Any, Any], run: RunRecord) -> bool:
    """Return whether a dependency is completed, and merged if an attempt of this run completed it."""
    if status.get(dep) != COMPLETED:
        return False
    last = run.task(dep).last
    return last is None or run.task(dep).reason == "by hand" or last.attempt.is_merged


def _may_run(id_: int, at_work: Collection[int], files: Mapping[int, Collection[str]], *, is_isolated: bool) -> bool:
    own = files.get(id_, ())
    if not own:
        return is_isolated or not at_work
    for other in at_work:
        theirs = files.get(other, ())
        if (not theirs and not is_isolated) or overlap(own, theirs):
            return False
    return True
