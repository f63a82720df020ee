"""The random calls of the processes of a history, and the moments of their deaths."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.reliability.suites.linearizable.recording import Fate, Script
from tests.reliability.suites.linearizable.worker import Call

PROCESSES = 4
_WEIGHTS = {
    "task_add": 28,
    "task_update": 14,
    "task_list": 14,
    "task_close": 14,
    "plan_start": 10,
    "plan_decide": 8,
    "plan_status": 6,
    "history_search": 6,
}
_FEWEST, _MOST = 6, 10  # calls of a process
_KILLED = 0.4  # share of the processes that are killed
_AT_A_CALL = 0.5  # share of these that die before a system call; the others die at a random time
_YIELDS = 0.2  # share of the system calls that let other processes run first


def drawn(rng: random.Random, unique: Iterator[int]) -> list[Script]:
    """Return the random scripts of one history."""
    return [_script(rng, unique) for _ in range(PROCESSES)]


def call(tool: str, rng: random.Random, unique: Iterator[int]) -> Call:
    """Return a random call of the tool; its titles and decisions are unique."""
    if tool == "task_add":
        return tool, {"title": f"t{next(unique)}", "context": "c"}
    if tool == "task_update":
        return tool, {"id": rng.randint(1, 3), "status": rng.choice(("pending", "in_progress", "completed"))}
    if tool == "plan_start":
        number = next(unique)
        return tool, {"topic": f"p{number}", "issues": [f"i{number}", f"j{number}"], "research_summary": ""}
    if tool == "plan_decide":
        return tool, {"issue_id": rng.randint(1, 2), "decision": f"d{next(unique)}"}
    if tool == "history_search":
        return tool, {"last_n": 1000, "query": "completed_at"}  # a word of every cycle
    return tool, {}


def _script(rng: random.Random, unique: Iterator[int]) -> Script:
    tools = rng.choices([*_WEIGHTS], [*_WEIGHTS.values()], k=rng.randint(_FEWEST, _MOST))
    calls = [call(tool, rng, unique) for tool in tools]
    fate = None
    if rng.random() < _KILLED:
        if rng.random() < _AT_A_CALL:
            fate = Fate(at_call=rng.randint(1, 25 * len(calls)))
        else:
            fate = Fate(lines=rng.randint(0, 2 * len(calls)), delay=rng.uniform(0, 0.002))
    return Script(calls, fate, _YIELDS)
