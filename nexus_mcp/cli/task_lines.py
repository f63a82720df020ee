"""Render tasks as lines for people, with states, owners and reasons, for commands such as status, tasks and task."""

from __future__ import annotations

from nexus_mcp.cli import blocks
from nexus_mcp.cli.blocks import DETAIL, LEAD, MAIN, NUMBER, Line, Table
from nexus_mcp.views import task_rows, tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nexus_mcp.cli.blocks import Part
    from nexus_mcp.views.task_rows import Row

MARKS: dict[str, tuple[str, str]] = {
    task_rows.RUNNING: ("▸", blocks.ACTIVE),
    task_rows.READY: ("○", blocks.READY),
    task_rows.WAITING: ("·", blocks.DIM),
    task_rows.DONE: ("✓", blocks.GOOD),
    tasks.MISSING: ("✗", blocks.PROBLEM),
}
"""State -> (its mark, the style of the mark)."""
GROUPS = (task_rows.RUNNING, task_rows.READY, task_rows.WAITING, task_rows.DONE)
"""The states in the order in which people need them."""
TASK_INDENT = 2
"""Blanks before the mark of a task."""
_SHORTEST_BAR, _LONGEST_BAR = 10, 24
"""The limits of the width of a progress bar, in columns."""


def task_table(rows: Iterable[Row], known: Mapping[int | float, Row]) -> Table:
    """Return the table of some tasks: mark, id, title, unfinished dependencies, owner. `known` has all tasks by id."""
    return Table(
        (LEAD, NUMBER, MAIN, MAIN, DETAIL),
        [
            (
                MARKS[row["state"]],
                str(row["id"]),
                (row["title"], blocks.DIM if row["state"] == task_rows.DONE else ""),
                _waits(row, known),
                owner(row["owner"]),
            )
            for row in rows
        ],
        indent=TASK_INDENT,
    )


def owner(name: str | None) -> Part:
    """Return the owner of a task as it is shown after the task: `@engineer`, "" without an owner."""
    return (f"@{name}", blocks.DIM) if name else ""


def _waits(row: Row, known: Mapping[int | float, Row]) -> Part:
    if row["state"] != task_rows.WAITING:
        return ""
    return (f"waits for {tasks.waits(row, known)}", blocks.DIM)


def plain_table(rows: Iterable[Row], known: Mapping[int | float, Row]) -> Table:
    """Return the table of some tasks for a pipe. Each row has the state as a word, for which you can search."""
    return Table(
        (NUMBER, LEAD, LEAD, MAIN, MAIN),
        [
            (str(row["id"]), tasks.WORDS[row["state"]], row["owner"] or "-", row["title"], _waits(row, known))
            for row in rows
        ],
    )


def progress(counts: Mapping[str, int], width: int, label: str = "") -> Line:
    """Return the numbers of tasks in each state on one line, after a bar if `width` columns have room for it.

    `label` names the counted tasks; pass it when the list below is filtered.
    """
    done, total = counts[task_rows.DONE], counts["total"]
    label = f"{label}: " if label else ""
    first = f"{done} of {total} done"
    rest = "".join(
        f" · {counts[state]} {tasks.WORDS[state]}"
        for state in (task_rows.RUNNING, task_rows.READY, task_rows.WAITING)
        if counts[state]
    )
    bar = min(_LONGEST_BAR, width - blocks.GAP - len(label) - len(first) - len(rest))
    parts: list[Part] = []
    if total and bar >= _SHORTEST_BAR:
        full = done * bar // total
        parts = [("━" * full, blocks.GOOD), ("─" * (bar - full), blocks.DIM), " " * blocks.GAP]
    return Line((label, blocks.DIM), *parts, (first, blocks.STRONG), rest)


def problem_lines(rows: Sequence[Row], groups: Sequence[Sequence[int | float]]) -> list[Line]:
    """Return a line for each cycle of dependencies and for each unfinished task with a missing dependency."""
    return [Line(text, lead=[("  ✗  ", blocks.PROBLEM)]) for text in tasks.problems(rows, groups)]
