"""The checker of histories agrees with a search of every order, on histories made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain, combinations, permutations

import pytest

from tests.reliability.suite import Json
from tests.reliability.suites.linearizable.checker import Undecided, check
from tests.reliability.suites.linearizable.history import NEVER, Death, History, Op
from tests.reliability.suites.linearizable.model import Model, State

STAMPS = ("first", "second", "third")


def op(process: int, began: int, ended: int, tool: str, answer: Json = None, **arguments: Json) -> Op:
    return Op(process, tool, arguments, began, ended, answer)


def killed(process: int, began: int, tool: str, **arguments: Json) -> Op:
    return Op(process, tool, arguments, began, is_last=True)


def add(process: int, began: int, ended: int, title: str, number: int) -> Op:
    task = {"id": number, "title": title, "status": "pending"}
    return op(process, began, ended, "task_add", {"task": task}, title=title)


def listed(process: int, began: int, ended: int, *titles: str) -> Op:
    tasks = [{"id": number, "title": title, "status": "pending"} for number, title in enumerate(titles, 1)]
    numbers = [task["id"] for task in tasks]
    summary = {"total": len(tasks), "completed": 0, "pending": len(tasks), "blocked": 0, "ready": numbers}
    answer = {"goal": "", "tasks": tasks, "summary": summary} if titles else {"exists": False}
    return op(process, began, ended, "task_list", answer)


def closed(process: int, began: int, ended: int, cycle: int, tasks: int) -> Op:
    return op(process, began, ended, "task_close", close_answer(cycle, tasks))


def close_answer(cycle: int, tasks: int) -> Json:
    return {
        "closed": True,
        "cycle": STAMPS[cycle],
        "branch": "_default",
        "archived": {"plan": False, "decisions": 0, "tasks": tasks},
        "deleted": ["tasks.json"] * bool(tasks),
        "total_cycles": cycle + 1,
        "memoryHint": {"taskCount": tasks, "decisionCount": 0, "cycleTopics": []},
    }


def started(process: int, began: int, ended: int, topic: str, number: int, *, archived: bool) -> Op:
    answer = {"created": True, "plan_id": number, "topic": topic, "issueCount": 0, "previousArchived": archived}
    return op(process, began, ended, "plan_start", answer, topic=topic, issues=[])


GOOD: dict[str, list[Op]] = {
    "nothing": [],
    "one after the other": [add(1, 0, 1, "a", 1), add(2, 2, 3, "b", 2), listed(1, 4, 5, "a", "b")],
    "two at once, the later one first": [add(1, 0, 9, "a", 2), add(2, 1, 8, "b", 1)],
    "a look during a change sees what was before": [add(1, 0, 9, "a", 1), listed(2, 3, 4)],
    "a look during a change sees it": [add(1, 0, 9, "a", 1), listed(2, 3, 4, "a")],
    "a killed one happened": [killed(1, 0, "task_add", title="a"), listed(2, 20, 21, "a")],
    "a killed one did not happen": [killed(1, 0, "task_add", title="a"), listed(2, 20, 21)],
    "a killed one is completed later": [
        killed(1, 0, "task_add", title="a"),
        listed(2, 20, 21),
        listed(2, 22, 23, "a"),
    ],
    "a repeated close is answered from the first": [
        add(1, 0, 1, "a", 1),
        killed(1, 2, "task_close"),
        closed(2, 20, 21, 0, 1),
        closed(2, 22, 23, 1, 0),
    ],
    "a repeated close closes what came in between": [
        add(1, 0, 1, "a", 1),
        killed(1, 2, "task_close"),
        add(2, 20, 21, "b", 1),
        closed(2, 22, 23, 1, 1),
        closed(2, 24, 25, 2, 0),
    ],
    "a close while the other one lives is one of its own": [
        add(1, 0, 1, "a", 1),
        killed(1, 2, "task_close"),
        closed(2, 3, 9, 1, 0),
    ],
    "a plan after a plan": [started(1, 0, 1, "p", 1, archived=False), started(2, 2, 3, "q", 2, archived=True)],
}
BAD: dict[str, list[Op]] = {
    "an update is lost": [add(1, 0, 9, "a", 1), add(2, 1, 8, "b", 1)],
    "a task is lost": [add(1, 0, 1, "a", 1), add(2, 2, 3, "b", 2), listed(1, 4, 5, "b")],
    "a look sees the past": [add(1, 0, 1, "a", 1), listed(2, 2, 3)],
    "two looks see time go back": [add(1, 0, 9, "a", 1), listed(2, 1, 2, "a"), listed(3, 3, 4)],
    "a killed one happened and then did not": [
        killed(1, 0, "task_add", title="a"),
        listed(2, 20, 21, "a"),
        listed(2, 22, 23),
    ],
    "an answer of what was never asked for": [listed(1, 0, 1, "a")],
    "half a close": [add(1, 0, 1, "a", 1), killed(1, 2, "task_close"), listed(2, 20, 21, "a"), closed(2, 22, 23, 1, 1)],
    "a repeated close adds a second cycle": [
        add(1, 0, 1, "a", 1),
        killed(1, 2, "task_close"),
        listed(2, 20, 21),
        closed(2, 22, 23, 1, 0),
    ],
    "the answer of a close is given twice": [
        add(1, 0, 1, "a", 1),
        killed(1, 2, "task_close"),
        closed(2, 20, 21, 0, 1),
        closed(2, 22, 23, 0, 1),
    ],
    "an answered close is answered again": [add(1, 0, 1, "a", 1), closed(1, 2, 3, 0, 1), closed(2, 4, 5, 0, 1)],
    "a kept answer outlives a change": [
        add(1, 0, 1, "a", 1),
        killed(1, 2, "task_close"),
        started(2, 20, 21, "p", 1, archived=False),
        op(2, 22, 23, "task_close", close_answer(0, 1)),
    ],
    "the number of a plan is given twice": [
        started(1, 0, 9, "p", 1, archived=False),
        started(2, 1, 8, "q", 1, archived=True),
    ],
}


def verdict(ops: list[Op]) -> bool:
    """Return whether the checker accepts the history; a killed process is gone 10 ns after its last call began."""
    deaths = {each.process: Death(each.began, each.began + 10) for each in ops if each.is_last}
    return check(ops, State(), Model(History(ops, deaths, STAMPS)).step).is_linearizable


@pytest.mark.parametrize("name", GOOD)
def test_checker_accepts_linearizable_histories(name: str) -> None:
    """A history that one process could have produced is accepted."""
    assert verdict(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_checker_rejects_impossible_histories(name: str) -> None:
    """A history that no order of calls can produce is rejected."""
    assert not verdict(BAD[name])


def register(state: int, each: Op) -> Iterable[int]:
    """Yield the states after a write or read of a number."""
    if each.tool == "write":
        return [each.arguments["value"]]
    return [state] if each.answer in (None, state) else []


def by_every_order(ops: list[Op]) -> bool:
    """Return whether some order of all answered calls, and of any other calls, explains the answers."""
    pending = [each for each in ops if each.answer is None]
    answered = [each for each in ops if each.answer is not None]
    some = chain.from_iterable(combinations(pending, size) for size in range(len(pending) + 1))
    return any(explains(order) for chosen in some for order in permutations([*answered, *chosen]))


def explains(order: tuple[Op, ...]) -> bool:
    state = 0
    for at, each in enumerate(order):
        if any(later.ended < each.began for later in order[at:]):
            return False
        after = list(register(state, each))
        if not after:
            return False
        state = after[0]
    return True


def drawn(rng: random.Random) -> list[Op]:
    ops = []
    for process in range(rng.randint(1, 5)):
        began = rng.randint(0, 10)
        tool = rng.choice(("write", "read"))
        value = rng.randint(0, 2)
        ended, answer = (NEVER, None) if rng.random() < 0.2 else (began + rng.randint(0, 6), value)
        ops.append(op(process, began, ended, tool, answer, value=value))
    return ops


def test_verdict_equals_brute_force() -> None:
    """The checker and a search of every order give the same verdict, for random histories of both kinds."""
    rng = random.Random(1)
    verdicts = set()
    for _ in range(400):
        ops = drawn(rng)
        expected = by_every_order(ops)
        assert check(ops, 0, register).is_linearizable is expected, ops
        verdicts.add(expected)
    assert verdicts == {True, False}


def test_too_many_orders_are_not_accepted() -> None:
    """A history with too many orders to check is not accepted."""
    ops = [op(number, 0, 100, "write", "", value=number) for number in range(8)]
    with pytest.raises(Undecided):
        check([*ops, op(9, 101, 102, "read", -1)], 0, register, most=50)
