"""List the goals that are not met, with the distance to the goal and to the limit. All functions are pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import OURS, ratio
from benchmarks.goals import FIRST_WRITTEN, LIMITS, LOADED, ROWS, Goal, Row
from benchmarks.report import SERVERS, Medians, judge, number

_WARM = (
    "besides the bare loop, the server takes the lock, reads the list and compares it with the one it knows, checks "
    "and writes the task, and writes the operation log (0.3 ms in all without a disk; up to twice as long after a wait "
    "for the disk)."
)
HEAD = ("not met", "goal", "ours", "limit", "its figure", "ours / limit", "goal beyond it")
BOTH = "both of them, one after the other"
# What our server does besides the work of the row's limits, by the beginning of the row's key.
SPENT = {
    "first-plan_status": "besides loading its modules, the server finds, reads and checks the plan for the first time "
    "(half a millisecond in a process with everything loaded), uses the pipe, and loads modules that later calls need: "
    "a call interrupts that only between two modules.",
    "first-task_list": "besides loading its modules, the server finds, reads, checks and renders the list for the "
    "first time, uses the pipe, and loads modules that later calls need: a call interrupts that only between two "
    "modules.",
    "first-task_add": "besides the modules and the disk, the server reads, checks and writes the whole list with code "
    "that runs for the first time (some two milliseconds without a disk, 0.3 for the next call), uses the pipe, and "
    "shares the processors with its own loading and with the client.",
    "later-task_add": "besides the disk, the server reads, checks and writes the whole list with code that runs for "
    "the first time (nearly a millisecond without a disk, 0.3 for the next call), and uses the pipe.",
    "task_add-140": _WARM,
    "task_update-140": _WARM,
    "crowd-": "the bare processes have no client; a ninth process on the same processors calls ours over pipes.",
    "run-attempt": "an attempt waits for three processes of git, one of which looks at each file, for its check, for "
    "the answers of three more processes, and for two syncs of the log; after each the executor waits for a processor.",
    "run-tasks": "three processes of git look at each file for a task (its commit, the check-out before its worktree "
    "is used again, the check-out before the check of the merge): a session and a check may change any "
    "file. Nine worktrees are written at the start, and eight are removed at the end. In this repository "
    "of 200 files, one half of the processor time of a task is the executor (the log, tasks.json with its "
    "four syncs, ten starts of processes), the other half its children: the session and both checks, "
    "which each task needs in any case, and six of git. A session of a model takes minutes, not 50 ms.",
    "native-": "besides the start of the interpreter, a process imports the modules of its hook (some 90 files), reads "
    "its event, the plan and the tasks. At the start of a session, a message or an agent, it also writes a file "
    "durably, under the lock.",
    "http-": "besides what the SDK does for a call without a store, the server checks Host, token, project and right, "
    "waits for its turn, reads the project in a thread of its own, and makes the values that the SDK renders (0.3 ms "
    "of processor time in all; the SDK needs 0.8 ms with its HTTP). On a machine with more work than processors each "
    "change between the two threads waits for a processor.",
    "clone-": "the server checks each cycle strictly, computes its digest, and writes the index, so that later calls "
    "need not do this. No parser that we know reads the file once within the goal.",
}


def found(medians: Medians) -> Iterator[tuple[Row, Goal, float]]:
    """Yield (the row, the goal that it misses, the value that would meet the goal)."""
    for row in ROWS:
        for goal in row.goals:
            judged = judge(row, goal, medians)
            if judged and not judged["met"]:
                yield row, goal, goal.limit * judged["other"]


def lines(medians: Medians) -> Iterator[tuple[str, ...]]:
    """Yield a line for each limit of an unmet row, or one line that says that it has no limit."""
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
    """Yield the text about the remaining time of each unmet row; rows with the same text share a line."""
    texts: dict[str, list[str]] = {}
    for row, goal, _ in found(medians):
        text = next((text for begin, text in SPENT.items() if row.key.startswith(begin)), "not looked into.")
        texts.setdefault(text, []).append(_what(row, goal).rpartition(" (")[0])
    for text, rows in texts.items():
        yield f"*{'; '.join(rows)}*: {text}"


def _what(row: Row, goal: Goal) -> str:
    against = f", against {SERVERS[goal.against]}" if goal != row.goals[0] and goal.against in SERVERS else ""
    return f"{row.what}{against} ({row.unit})"
