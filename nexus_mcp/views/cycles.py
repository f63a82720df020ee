"""The view `history`: closed cycles as rows, one cycle in full, and two cycles compared.

Cycles are numbered from 1, the oldest first. Old versions and other programs may have written cycles, so a missing or
malformed field gets an empty value here.
"""

from __future__ import annotations

from nexus_mcp.errors import UsageError
from nexus_mcp.state import plan as plans
from nexus_mcp.state.tasks import COMPLETED
from nexus_mcp.views import VERSION, task_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from nexus_mcp.store.history.archive import Archive

    class CycleRow(TypedDict):
        """One cycle. `topic` is "" without a plan; `decisions`, `tasks` and `done` (completed tasks) are counts."""

        number: int
        completed_at: str
        branch: str
        topic: str
        decisions: int
        tasks: int
        done: int


SAME, ADDED, REMOVED, CHANGED = "same", "added", "removed", "changed"
_SHORTEST_DATE = len("2026")


def cycle_row(number: int, cycle: Mapping[str, Any]) -> CycleRow:
    """Return the row of a cycle."""
    tasks = tasks_of(cycle)
    return {
        "number": number,
        "completed_at": _text(cycle, "completed_at"),
        "branch": _text(cycle, "branch"),
        "topic": _text(_plan(cycle), "topic"),
        "decisions": sum(issue.get("status") == plans.DECIDED for issue in issues_of(cycle)),
        "tasks": len(tasks),
        "done": sum(task.get("status") == COMPLETED for task in tasks),
    }


def cycle_rows(
    archive: Archive,
    *,
    query: str = "",
    since: str = "",
    until: str = "",
    branch: str = "",
    most: int | None = None,
    accept: Callable[[Mapping[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Return `version`, `total` (all cycles), `matching` and `cycles`: the `most` newest matching rows, newest first.

    A cycle matches if its text has `query`, ignoring case, if it was closed from the stamp `since` on and before the
    stamp `until`, if its branch is `branch`, and if `accept` returns true for it; "" and None accept all. Raise
    StorageError.
    """
    rows: list[CycleRow] = []
    if branch or accept:
        matching = 0
        found = newest_first(archive, query=query, since=since, until=until, branch=branch)
        accepted = (one for one in found if accept is None or accept(one[1]))
        for matching, (number, cycle) in enumerate(accepted, 1):
            if most is None or matching <= most:
                rows.append(cycle_row(number, cycle))
    else:  # parse only the cycles that are shown
        numbers = _numbers(archive, query, since, until)
        matching = len(numbers)
        rows = [cycle_row(index + 1, archive.cycle(index)) for index in numbers[:most]]
    return {"version": VERSION, "total": len(archive), "matching": matching, "cycles": rows}


def newest_first(
    archive: Archive,
    *,
    query: str = "",
    since: str = "",
    until: str = "",
    branch: str = "",
    among: Collection[int] | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, cycle) of each matching cycle, newest first. If `among` is not None, yield only cycles in it,
    counted from 0. Raise StorageError.
    """
    for index in _numbers(archive, query, since, until):
        if among is None or index in among:
            cycle = archive.cycle(index)
            if not branch or cycle.get("branch") == branch:
                yield index + 1, cycle


def _numbers(archive: Archive, query: str, since: str, until: str) -> Sequence[int]:
    """Return the cycles that match, counted from 0, newest first.

    Only cycles without a stamp in the index are parsed.
    """
    numbers = archive.matches(query) if query.strip() else range(len(archive))
    if not (since or until):
        return numbers[::-1]
    found = []
    for index in reversed(numbers):
        closed = archive.index.stamp(index) or _text(archive.cycle(index), "completed_at")
        if closed >= since and (not until or closed < until):
            found.append(index)
    return found


def find_number(archive: Archive, word: str) -> int:
    """Return the number of the cycle that `word` names: a number, `last`, or the beginning of its closing time.

    The newest cycle with that beginning counts. Raise UsageError if there is none, StorageError.
    """
    count = len(archive)
    if not count:
        raise UsageError("No cycle was closed yet.", next_step="task_close closes the first one.")
    if word == "last":
        return count
    if word.isascii() and word.isdigit() and not (len(word) == _SHORTEST_DATE and int(word) > count):
        number = int(word) if len(word) < 12 else count + 1
        if 1 <= number <= count:
            return number
        raise UsageError(
            f"There is no cycle {word[:40]}.", next_step=f"The cycles are 1 to {count}: nexus-mcp history lists them."
        )
    if len(word) >= _SHORTEST_DATE and word[:_SHORTEST_DATE].isdigit():
        for index in reversed(range(count)):
            if (archive.index.stamp(index) or _text(archive.cycle(index), "completed_at")).startswith(word):
                return index + 1
    raise UsageError(
        f"No cycle was closed at {word[:40]!r}.",
        next_step="Name a number, `last` or a date such as 2026-11-03: nexus-mcp history lists them.",
    )


def cycle_view(number: int, cycle: Mapping[str, Any]) -> dict[str, Any]:
    """Return one cycle in full: the fields of its row, `plan` with all issues or None, `rows` (views/task_rows.py) and
    `task_list`, the tasks as they were closed.
    """
    plan = cycle.get("plan")
    return {
        "version": VERSION,
        **cycle_row(number, cycle),
        "plan": {**plan, "issues": issues_of(cycle)} if isinstance(plan, dict) else None,
        "rows": task_rows.rows(tasks_of(cycle)),
        "task_list": tasks_of(cycle),
    }


def compare(old: tuple[int, Mapping[str, Any]], new: tuple[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return `old` and `new` (rows), and the differences of their `issues` and `tasks`.

    Each difference has `kind` (ADDED, REMOVED, CHANGED or SAME), `title`, and `before` and `after`: the decision of an
    issue or the status of a task, "" for none. The first old row and the first new row with a title make one
    difference. Further new rows with that title are ADDED, further old ones are left out. The order is that of the new
    cycle; removed rows come last.
    """
    return {
        "version": VERSION,
        "old": cycle_row(*old),
        "new": cycle_row(*new),
        "issues": _differences(issues_of(old[1]), issues_of(new[1]), "decision"),
        "tasks": _differences(tasks_of(old[1]), tasks_of(new[1]), "status"),
    }


def issues_of(cycle: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the issues of the plan in a cycle; [] without a plan."""
    return _rows(_plan(cycle).get("issues"))


def tasks_of(cycle: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tasks in a cycle, as they were closed."""
    return _rows(cycle.get("tasks"))


def _differences(old: Iterable[dict[str, Any]], new: Iterable[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    before = [(_text(row, "title"), _text(row, field)) for row in old]
    left = dict(reversed(before))
    found: list[dict[str, Any]] = []
    for row in new:
        title, value = _text(row, "title"), _text(row, field)
        was = left.pop(title, None)
        kind = ADDED if was is None else SAME if was == value else CHANGED
        found.append({"kind": kind, "title": title, "before": was or "", "after": value})
    return [
        *found,
        *(
            {"kind": REMOVED, "title": title, "before": left.pop(title), "after": ""}
            for title, _ in before
            if title in left
        ),
    ]


def _plan(cycle: Mapping[str, Any]) -> Mapping[str, Any]:
    plan = cycle.get("plan")
    return plan if isinstance(plan, dict) else {}


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""
