"""Sequences with a history that counts as long: foreign changes of the history, its index and its texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nexus_mcp.store.history import cache
from nexus_mcp.store.history.index import RECORD
from tests.reliability.suites.model.world import World
from tests.support import cycle

_PLAN = {"topic": "alpha", "issues": ["A", "B"], "research_summary": ""}
_TASK = {"title": "t", "context": "c", "goal": "g"}
_LENGTHY = "r" * 5000  # longer than the part of a known history that is read again
_FLIPS = 8  # corrupt this many bytes of a file, one at a time
_FEWEST = 10  # least number of system calls before a close copies the history
_AROUND = 12  # bytes to search for on both sides of a corrupt one

Tale = Callable[[World], None]
Cycles = list[Any]


def changed_in_place(world: World) -> None:
    """Another program changes a letter repeatedly; all servers see it, whichever of them wrote the file before."""
    for by in (0, 1):
        _close(world, by, summary=_LENGTHY)
        _look(world, "alpha")
        for letter in "bcd":
            world.git(partial(_renamed, letter))
            _look(world, f"{letter}lpha")
            world.git(partial(_renamed, "a"))
            _look(world, "alpha")
    _close(world, 0)
    _look(world, "alpha")


def shared(world: World) -> None:
    """Each process sees the cycles of the other one at once, even if both have read the history before."""
    for number in range(6):
        _close(world, number % 2)
        _look(world, "alpha")


def merged(world: World) -> None:
    """git merges a cycle with the completed_at of the cycle in a pending journal: the history then has both."""
    for _ in range(2):
        _close(world, 0)
    for number in range(1, 200):
        world.call(0, "plan_start", _PLAN)
        world.crash(0, "task_close", {}, number)
        waiting = world.waiting()
        if waiting is not None and waiting not in world.cycles():
            foreign = cycle(None, at=waiting["completed_at"], branch="other")
            world.git(partial(_with, foreign))
            _look(world, "other")
            return
        world.call(0, "task_close", {})
        world.clock.advance(1)
    raise AssertionError("no death of a close leaves a journal alone")


def spoilt(world: World) -> None:
    """With any corrupt byte in the index or the texts, a process that has not read them before answers correctly."""
    for _ in range(3):
        _close(world, 0)
    folder = world.project.state / cache.FOLDER
    for suffix in (cache.NAME, ".texts"):
        for number in range(_FLIPS):
            _look(world, "alpha")
            (path,) = folder.glob(f"*{suffix}")
            data = bytearray(path.read_bytes())
            at = _place(number, len(data), is_index=suffix == cache.NAME)
            queries = [_around(data, at)] if suffix == ".texts" else ["alpha"]
            data[at] = (data[at] + 1) % 256
            path.write_bytes(data)
            for process in (0, 1):
                world.restart(process)
            _look(world, *queries)
            world.call(0, "plan_start", _PLAN)  # its number is one above the highest of the history
            world.call(0, "task_close", {})
            world.clock.advance(1)


def meddled_with(world: World) -> None:
    """git writes the history while a close copies it: git's cycles stay, with or without the new cycle."""
    _close(world, 0)
    number, meddled = 0, True
    while meddled:
        number += 1
        world.restart(0)
        foreign = cycle(None, at=world.clock.stamp(), branch=f"other {number}")
        world.clock.advance(1)
        meddled = world.meddle(0, number, partial(_with, foreign))
        world.clock.advance(1)
    assert number > _FEWEST, "a close ended before git wrote"


TALES: dict[str, Tale] = {
    "a cycle is changed in place": changed_in_place,
    "two processes close by turns": shared,
    "a merge beside a journal": merged,
    "a history changed while it is copied": meddled_with,
    "a spoilt cache": spoilt,
}


def _close(world: World, by: int, summary: str = "") -> None:
    world.call(by, "plan_start", {**_PLAN, "research_summary": summary})
    world.call(by, "task_add", _TASK)
    world.call(by, "task_close", {})
    world.clock.advance(1)


def _look(world: World, *queries: str) -> None:
    for process in (0, 1):
        world.call(process, "history_search", {})
        for query in queries:
            world.call(process, "history_search", {"query": query})


def _with(foreign: Any, cycles: Cycles) -> Cycles:
    return [*cycles, foreign]


def _renamed(letter: str, cycles: Cycles) -> Cycles:
    first, *others = cycles
    return [{**first, "plan": {**first["plan"], "topic": f"{letter}lpha"}}, *others]


def _place(number: int, size: int, *, is_index: bool) -> int:
    """Return the place number `number`, evenly spread; in an index also the entry of the last cycle but one."""
    return size - 2 * RECORD.size if is_index and not number else (2 * number + 1) * size // (2 * _FLIPS)


def _around(data: bytearray, at: int) -> str:
    line = bytes(data[data.rfind(b"\n", 0, at) + 1 : data.find(b"\n", at)])
    start = max(0, at - data.rfind(b"\n", 0, at) - 1 - _AROUND)
    return line[start : start + 2 * _AROUND].decode()
