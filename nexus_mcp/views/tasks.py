"""The views `tasks` and `task`: the filtered task list, and one task with its unfinished dependencies and its reason to
wait.
"""

from __future__ import annotations

from nexus_mcp.views import VERSION, task_rows
from nexus_mcp.wording import and_more, join_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    from nexus_mcp.views.task_rows import Row

    class Neighbour(TypedDict):
        """A task at the other end of a dependency. `state` is one of STATES, or MISSING."""

        id: int | float
        title: str
        state: str
        owner: str | None


MISSING = "missing"
"""The state of a dependency that is no task of the list."""
WORDS = {
    task_rows.WAITING: "waiting",
    task_rows.READY: "ready",
    task_rows.RUNNING: "in progress",
    task_rows.DONE: "done",
    MISSING: "no such task",
}
"""State -> its name in a text."""
_MOST = 8
"""The maximum number of tasks that a text names."""


def tasks(document: Mapping[str, Any] | None, *, states: Collection[str] = (), owner: str = "") -> dict[str, Any]:
    """Return `version`, `goal`, `counts` and `cycles` of the whole list, `owners`, and `tasks`: the rows with one of
    the `states` and with the `owner`, ignoring case. Empty `states` match every state, and "" matches every owner.
    """
    found = task_rows.rows([] if document is None else document["tasks"])
    return {
        "version": VERSION,
        "goal": "" if document is None else document["goal"],
        "counts": task_rows.counts(found),
        "cycles": cycles(found),
        "owners": sorted({row["owner"] for row in found if row["owner"]}),
        "tasks": [row for row in (of_owner(found, owner) if owner else found) if not states or row["state"] in states],
    }


def of_owner(rows: Iterable[Row], owner: str) -> list[Row]:
    """Return the rows of the tasks of this owner, ignoring case."""
    wanted = owner.casefold()
    return [row for row in rows if (row["owner"] or "").casefold() == wanted]


def task(document: Mapping[str, Any], one: Mapping[str, Any], plan: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the task `one` of the list in full: `task` as in tasks.json, its `row`, the tasks that it `waits_for`, the
    tasks that it `blocks`, the `cycle` of ids to which it belongs ([] for none), `reason` (why it is not ready, "" if
    it is not waiting) and `issue`, the issue of the open `plan` that it carries out, or None.
    """
    found = task_rows.rows(document["tasks"])
    row = next(row for row in found if row["id"] == one["id"])
    known = by_id(found)
    issues = [] if plan is None else plan["issues"]
    return {
        "version": VERSION,
        "task": one,
        "row": row,
        "waits_for": [neighbour(known, dep) for dep in dict.fromkeys(row["waits_for"])],
        "blocks": [neighbour(known, user) for user in row["blocks"]],
        "cycle": next((group for group in cycles(found) if row["id"] in group), []),
        "reason": reason(row, known),
        "issue": next((issue for issue in issues if issue["id"] == row["plan_issue"]), None),
    }


def by_id(rows: Sequence[Row]) -> dict[int | float, Row]:
    """Return id -> row."""
    return {row["id"]: row for row in rows}


def cycles(rows: Sequence[Row]) -> list[list[Any]]:
    """Return the groups of ids of unfinished tasks that depend on each other, as task_rows.cycles does."""
    unfinished = dict.fromkeys(row["id"] for row in rows if row["state"] != task_rows.DONE)
    return task_rows.cycles({row["id"]: row["deps"] for row in rows}, unfinished)


def neighbour(known: Mapping[int | float, Row], id_: int | float) -> Neighbour:
    """Return id, title, state and owner of a task; the state is MISSING if `known` does not have the id."""
    row = known.get(id_)
    if row is None:
        return {"id": id_, "title": "", "state": MISSING, "owner": None}
    return {"id": id_, "title": row["title"], "state": row["state"], "owner": row["owner"]}


def reason(row: Row, known: Mapping[int | float, Row]) -> str:
    """Return why a task is not ready: `task 4 waits for 2 (in progress, owner engineer) and 3 (ready)`; "" if it is not
    waiting.
    """
    if row["state"] != task_rows.WAITING:
        return ""
    return f"task {row['id']} waits for {waits(row, known)}"


def waits(row: Row, known: Mapping[int | float, Row]) -> str:
    """Return the unfinished dependencies of a task: `2 (in progress, owner engineer) and 3 (ready)`. Of more than
    _MOST, return the first _MOST and the number of the rest.
    """
    deps = list(dict.fromkeys(row["waits_for"]))
    texts = [f"{dep} ({_state(neighbour(known, dep))})" for dep in deps[:_MOST]]
    if len(deps) > _MOST:
        return ", ".join(texts) + and_more(len(deps) - _MOST)
    return " and ".join([", ".join(texts[:-1]), *texts[-1:]]) if len(texts) > 1 else "".join(texts)


def _state(one: Neighbour) -> str:
    words = WORDS[one["state"]]
    return f"{words}, owner {one['owner']}" if one["owner"] and one["state"] == task_rows.RUNNING else words


def problems(rows: Sequence[Row], groups: Sequence[Sequence[int | float]]) -> list[str]:
    """Return a sentence for each of the `groups` (`cycles`) and for each unfinished task with a missing dependency."""
    found = []
    for group in groups:
        ids = join_first(group, _MOST)
        if len(group) == 1:
            found.append(f"Task {ids} waits for itself and can never be ready.")
        else:
            found.append(f"Tasks {ids} wait for each other, so none of them can be ready.")
    for row in rows:
        if row["missing"] and row["state"] != task_rows.DONE:
            ids = join_first(row["missing"], _MOST)
            which = "which is no task" if len(row["missing"]) == 1 else "which are no tasks"
            found.append(f"Task {row['id']} waits for {ids}, {which}.")
    return found
