"""The goals that are not met: how far they are away, and how near the limit is. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import OURS, ratio
from benchmarks.goals import FIRST_WRITTEN, LIMITS, LOADED, ROWS, Goal, Row
from benchmarks.report import SERVERS, Medians, judge, number

_WARM = (
    "beside the bare loop: the lock, the list read and compared with the known one, the task checked and laid out, the "
    "operation log (0.3 ms in all, without a disk; after a sleep for it each of them takes up to twice as long)."
)
HEAD = ("not met", "goal", "ours", "limit", "its figure", "ours / limit", "goal beyond it")
BOTH = "both of them, one after the other"
# What ours does beside what the limits of the row do, by the beginning of its key.
SPENT = {
    "first-plan_status": "beside its modules: the plan found, read and checked for the first time (half a millisecond "
    "in a process with everything loaded), the pipe, and the loading of what later calls need, which gives way only "
    "between two modules.",
    "first-task_list": "beside its modules: the list found, read, checked and put together for the first time, the "
    "pipe, and the loading of what later calls need, which gives way only between two modules.",
    "first-task_add": "beside modules and disk: the whole list read, checked and laid out, by code that runs for "
    "the first time (some two milliseconds without a disk, 0.3 for the next call), the pipe, and the processors, which "
    "loading and the client need, too.",
    "later-task_add": "beside the disk: the whole list read, checked and laid out, by code that runs for the first "
    "time (nearly a millisecond without a disk, 0.3 for the next call), and the pipe.",
    "task_add-140": _WARM,
    "task_update-140": _WARM,
    "crowd-": "the bare processes have no client; ours are asked over pipes by a ninth process on the same processors.",
    "clone-": "each cycle judged strictly, its digest, and the index that spares later calls all this. No parser that "
    "we know reads the file once within the goal.",
}


def found(medians: Medians) -> Iterator[tuple[Row, Goal, float]]:
    """The row, the goal that it misses, and the value that the goal comes to."""
    for row in ROWS:
        for goal in row.goals:
            judged = judge(row, goal, medians)
            if judged and not judged["met"]:
                yield row, goal, goal.limit * judged["other"]


def lines(medians: Medians) -> Iterator[tuple[str, ...]]:
    """A line for each limit of an unmet row, or one that says that none is shown."""
    for row, goal, value in found(medians):
        series = medians[row.key]
        limits = {name: series[name] for name in LIMITS if name in series}
        if {LOADED, FIRST_WRITTEN} <= limits.keys():
            limits[BOTH] = limits[LOADED] + limits[FIRST_WRITTEN]
        what = (_what(row, goal), number(value), number(series[OURS]))
        for name, figure in limits.items():
            beyond = value > figure if goal.at_least else value < figure
            yield (*what, name, number(figure), f"{ratio(series[OURS], figure):.2f}", "yes" if beyond else "no")
        if not limits:
            yield (*what, "none shown", "–", "–", "–")


def spent(medians: Medians) -> Iterator[str]:
    """What the rest of each unmet row is spent on; rows with the same text share a line."""
    texts: dict[str, list[str]] = {}
    for row, goal, _ in found(medians):
        text = next((text for begin, text in SPENT.items() if row.key.startswith(begin)), "not looked into.")
        texts.setdefault(text, []).append(_what(row, goal).rpartition(" (")[0])
    for text, rows in texts.items():
        yield f"*{'; '.join(rows)}*: {text}"


def _what(row: Row, goal: Goal) -> str:
    against = f", against {SERVERS[goal.against]}" if goal != row.goals[0] and goal.against in SERVERS else ""
    return f"{row.what}{against} ({row.unit})"
