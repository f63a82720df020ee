"""The rules for the files, by the clients' records. Each rule returns a line for each breach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from tests.reliability.suites.kills.client_records import Book
from tests.reliability.suites.kills.files import Files
from tests.reliability.suites.kills.registers import overwritten


def tasks(book: Book, files: Files) -> Iterable[str]:
    """Check that an acknowledged task is stored once with the answered fields, and any other at most once."""
    added = {str(call.arguments["title"]): call for call in book.calls if call.tool == "task_add"}
    stored = Counter(task["title"] for task in files.all_tasks)
    by_title = {task["title"]: task for task in files.all_tasks}
    for title, number in stored.items():
        if title not in added:
            yield f"task {title} came from nowhere"
        elif number > 1:
            yield f"task {title} is doubled: stored {number} times"
    for title, call in added.items():
        if call.answer is None:
            continue
        if title not in stored:
            yield f"task {title} is lost: acknowledged by server {call.server}"
        elif _fixed(by_title[title]) != _fixed(call.answer["task"]):
            yield f"task {title} is not what was acknowledged"


def numbers_of_tasks(book: Book, files: Files) -> Iterable[str]:
    """Check that the tasks of a cycle are numbered from 1 in their order."""
    for rows in [*(cycle["tasks"] for cycle in files.cycles), (files.tasks or {"tasks": []})["tasks"]]:
        if [row["id"] for row in rows] != list(range(1, len(rows) + 1)):
            yield f"tasks of one cycle are numbered {[row['id'] for row in rows]}"


def plans(book: Book, files: Files) -> Iterable[str]:
    """Check that plans are numbered from 1 without a gap, and that an acknowledged plan is stored under its number."""
    started = {call.arguments["topic"]: call for call in book.calls if call.tool == "plan_start"}
    found = files.all_plans
    if [plan["id"] for plan in found] != list(range(1, len(found) + 1)):
        yield f"plans are numbered {[plan['id'] for plan in found]}"
    topics = Counter(plan["topic"] for plan in found)
    for topic, number in topics.items():
        if topic not in started:
            yield f"plan {topic} came from nowhere"
        elif number > 1:
            yield f"plan {topic} is doubled: stored {number} times"
    for topic, call in started.items():
        if call.answer is None:
            continue
        if topic not in topics:
            yield f"plan {topic} is lost: acknowledged by server {call.server}"
        elif call.answer["plan_id"] not in [plan["id"] for plan in found if plan["topic"] == topic]:
            yield f"plan {topic} was acknowledged as number {call.answer['plan_id']} and is another"


def cycles(book: Book, files: Files) -> Iterable[str]:
    """Check that the times of cycles are unique, and that each acknowledged close has its cycle as answered."""
    times = [cycle["completed_at"] for cycle in files.cycles]
    if len(times) != len(set(times)):
        yield f"a completed_at is repeated: {times}"
    for call, answer in book.acknowledged("task_close"):
        if answer["cycle"] not in times:
            yield f"cycle {answer['cycle']} is lost: acknowledged by server {call.server}"
            continue
        at = times.index(answer["cycle"])
        cycle = files.cycles[at]
        told = (answer["total_cycles"], answer["archived"]["plan"], answer["archived"]["tasks"])
        if told != (at + 1, cycle["plan"] is not None, len(cycle["tasks"])):
            yield f"cycle {answer['cycle']} is not what was acknowledged"


def closes(book: Book, files: Files) -> Iterable[str]:
    """Check that every cycle was requested, and that no close returned the answer of a delivered one."""
    named = book.closed()
    last = book.last_words()
    for at, number in named.items():
        givers = [call.number for call, answer in book.acknowledged("task_close") if answer["cycle"] == at]
        if len([giver for giver in givers if giver not in last]) > 1:
            yield f"cycle {at} was the answer of {number} closes"
    unnamed = [cycle for cycle in files.cycles if cycle["completed_at"] not in named]
    by_starts = [cycle for cycle in unnamed if cycle["plan"] is not None and not cycle["tasks"]]
    closes_open = len(book.open("task_close"))
    if len(unnamed) - len(by_starts) > closes_open:
        yield f"{len(unnamed) - len(by_starts)} cycles that no close archived, for {closes_open} unanswered closes"
    archiving = [call for call, answer in book.acknowledged("plan_start") if answer["previousArchived"]]
    most = closes_open + len(archiving) + len(book.open("plan_start"))
    if len(unnamed) > most:
        yield f"{len(unnamed)} cycles that no close answered, for {most} calls that may have made them"


def archived_by_starts(book: Book, files: Files) -> Iterable[str]:
    """Check plan_start: it archived the plan before it, without tasks, if its answer says so; else no plan was open."""
    named = book.closed()
    by_id = {cycle["plan"]["id"]: cycle for cycle in files.cycles if cycle["plan"] is not None}
    for _, answer in book.acknowledged("plan_start"):
        before = by_id.get(answer["plan_id"] - 1)
        if answer["previousArchived"]:
            if before is None or before["tasks"] or before["completed_at"] in named:
                yield f"plan {answer['plan_id']} did not archive the one before it"
        elif answer["plan_id"] > 1 and before is None:
            yield f"plan {answer['plan_id']} found no plan open, and none is archived"


def searches(book: Book, files: Files) -> Iterable[str]:
    """Check that a search returns the history at the time of the request, in its order."""
    times = [cycle["completed_at"] for cycle in files.cycles]
    ends = [(call.over, answer["cycle"]) for call, answer in book.acknowledged("task_close")]
    for call, answer in book.acknowledged("history_search"):
        total = answer["total"]
        if [cycle["completed_at"] for cycle in answer["cycles"]] != times[max(0, total - 10) : total]:
            yield f"history_search of {total} cycles returned the wrong cycles"
        if len({cycle for over, cycle in ends if over < call.sent}) > total:
            yield f"history_search showed {total} cycles when more were acknowledged"


def values(book: Book, files: Files) -> Iterable[str]:
    """Check that the last acknowledged status, decision or artifact is stored."""
    return overwritten(book, files)


RULES: tuple[Callable[[Book, Files], Iterable[str]], ...] = (
    tasks,
    numbers_of_tasks,
    plans,
    cycles,
    closes,
    archived_by_starts,
    searches,
    values,
)
_ENOUGH = 10


def audit(book: Book, files: Files) -> list[str]:
    """Return the first violations."""
    return (book.faults + [fault for rule in RULES for fault in rule(book, files)])[:_ENOUGH]


def _fixed(task: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in task.items() if key != "status"}
