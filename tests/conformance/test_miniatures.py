"""The recorded fixtures catch each miniature, and a correct server passes them all.

Miniatures that need no process are judged together, in one run for each room: runs of their own, and a process for each
event, would take most of the time.
"""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from nexus_mcp.conformance.loading import load
from tests.miniatures import record
from tests.miniatures.__main__ import CORRECT
from tests.miniatures.base import EVENTS, EXECUTOR, PROCESS
from tests.miniatures.matrix import CAUGHT_BY
from tests.miniatures.runner import caught, concerned, failed_at_once
from tests.miniatures.table import MINIATURES, ROOMS

NOTED: dict[str, list[str]] = json.loads(CAUGHT_BY.read_text(encoding="utf-8"))
FIXTURES = {fixture.test_id: fixture for fixture in load()}
APART = (PROCESS, EXECUTOR)
"""Kinds of miniatures that are processes of their own."""
IN_MEMORY = [room for room in ROOMS if any(miniature.needs not in APART for miniature in room.MINIATURES)]
OF_EVENTS = [name for name, miniature in MINIATURES.items() if miniature.needs == EVENTS]
_EACH = 8
"""Every n-th miniature of events also runs as a command, with the payload on its stdin."""
AS_PROCESSES = [name for name, miniature in MINIATURES.items() if miniature.needs in APART] + OF_EVENTS[::_EACH]


def test_every_miniature_is_recorded() -> None:
    """caught_by.json names each miniature, in the table's order, and fixtures that test its fault."""
    assert list(NOTED) == list(MINIATURES)
    for name, ids in NOTED.items():
        assert ids
        assert [FIXTURES[i] for i in ids] == concerned(MINIATURES[name], [FIXTURES[i] for i in ids]), name


@pytest.mark.parametrize("room", IN_MEMORY, ids=lambda room: room.__name__.rpartition(".")[2])
def test_recorded_fixtures_catch_the_miniatures_of_a_room(room: ModuleType) -> None:
    """Every fixture that is recorded for a miniature of the room fails against it."""
    asked = {one.name: [FIXTURES[i] for i in NOTED[one.name]] for one in room.MINIATURES if one.needs not in APART}
    assert failed_at_once(asked) == {name: set(NOTED[name]) for name in asked}


@pytest.mark.parametrize("name", AS_PROCESSES)
def test_miniature_is_caught_as_a_process(name: str) -> None:
    """Every fixture recorded for a miniature also fails with the miniature as a process or a command."""
    missed = set(NOTED[name])
    # On a busy machine a kill, or writes at the same time, may once come too late to show the fault.
    for _ in range(12 if MINIATURES[name].needs in APART else 1):
        missed -= set(caught(MINIATURES[name], [FIXTURES[test_id] for test_id in sorted(missed)]))
        if not missed:
            break
    assert missed == set()


def test_the_correct_server_passes() -> None:
    """The server that the miniatures deviate from passes every fixture that catches one."""
    ids = sorted({test_id for noted in NOTED.values() for test_id in noted})
    in_memory = [FIXTURES[i] for i in ids if not FIXTURES[i].needs_process and not FIXTURES[i].needs_run]
    assert failed_at_once({CORRECT: in_memory}) == {CORRECT: set()}


def test_the_correct_executor_passes() -> None:
    """The small executor that the miniatures deviate from passes each fixture; it knows none of our code."""
    assert caught(None, [fixture for fixture in FIXTURES.values() if fixture.needs_run], jobs=2) == []


def test_every_fixture_catches_something() -> None:
    """catchers.json has for each fixture a miniature or a mutant that it catches, and each of them still exists."""
    found = record.faults([*FIXTURES.values()], *record.read())
    assert not found, "\n".join(found)
