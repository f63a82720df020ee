"""The recorded fixtures catch each miniature by the cause that its note names, and a correct server passes them all.

Miniatures that need no process are judged together, in one run for each room: runs of their own, and a process for each
event, would take most of the time.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType
from unittest.mock import patch

import pytest

from nexus_mcp.conformance.result import FAILED
from nexus_mcp.conformance.trial import bench
from tests.conformance.suite import packaged
from tests.miniatures import causes, record
from tests.miniatures.__main__ import CORRECT
from tests.miniatures.base import EVENTS
from tests.miniatures.causes import APART, TRIES
from tests.miniatures.matrix import CAUGHT_BY
from tests.miniatures.runner import caught, concerned, failed_at_once, judged
from tests.miniatures.table import MINIATURES, ROOMS

NOTED: dict[str, list[str]] = json.loads(CAUGHT_BY.read_text(encoding="utf-8"))
FIXTURES = {fixture.test_id: fixture for fixture in packaged()}
CAUSES = causes.read()
IN_MEMORY = [room for room in ROOMS if any(miniature.needs not in APART for miniature in room.MINIATURES)]
OF_EVENTS = [name for name, miniature in MINIATURES.items() if miniature.needs == EVENTS]
_EACH = 8
"""Every n-th miniature of events also runs as a command, with the payload on its stdin."""
_MEETING_S = 1.0
AS_PROCESSES = [name for name, miniature in MINIATURES.items() if miniature.needs in APART] + OF_EVENTS[::_EACH]


def test_every_miniature_is_recorded() -> None:
    """caught_by.json names each miniature, in the table's order, and fixtures that test its fault."""
    assert list(NOTED) == list(MINIATURES)
    for name, ids in NOTED.items():
        assert ids
        assert [FIXTURES[i] for i in ids] == concerned(MINIATURES[name], [FIXTURES[i] for i in ids]), name


@pytest.mark.parametrize("room", IN_MEMORY, ids=lambda room: room.__name__.rpartition(".")[2])
def test_recorded_fixtures_catch_the_miniatures_of_a_room(room: ModuleType) -> None:
    """Every fixture that is recorded for a miniature of the room fails against it, by the recorded cause.

    The report shows with this cause the tools, fields and files that the note of the miniature names.
    """
    asked = {one.name: [FIXTURES[i] for i in NOTED[one.name]] for one in room.MINIATURES if one.needs not in APART}
    failed = failed_at_once(asked)
    assert {name: {one.test_id for one in failed[name]} for name in asked} == {name: set(NOTED[name]) for name in asked}
    assert {name: causes.fault(MINIATURES[name], CAUSES[name], failed[name]) for name in asked} == dict.fromkeys(
        asked, ""
    )


@pytest.mark.parametrize("name", AS_PROCESSES)
def test_miniature_is_caught_as_a_process(name: str) -> None:
    """Every fixture recorded for a miniature also fails, by the same cause, with it as a process or a command."""
    wanted = [FIXTURES[test_id] for test_id in NOTED[name]]
    missed, fault = set(NOTED[name]), "has no result"
    # On a busy machine a kill, or writes at the same time, may once come too late to show the fault.
    for _ in range(TRIES if MINIATURES[name].needs in APART else 1):
        # Only the sessions of the executor that runs one at a time wait for others, and they never meet any.
        with patch.object(bench, "MEETING_S", _MEETING_S):
            failed = judged(MINIATURES[name], wanted).having(FAILED)
        missed -= {one.test_id for one in failed}
        fault = fault and causes.fault(MINIATURES[name], CAUSES[name], failed)
        if not missed and not fault:
            break
    assert (missed, fault) == (set(), "")


def test_every_cause_is_recorded() -> None:
    """causes.json has each miniature, in the order of the table, and none is caught because it crashes."""
    assert list(CAUSES) == list(MINIATURES)
    assert [name for name, cause in CAUSES.items() if "Internal error" in cause or "Traceback" in cause] == []


@pytest.mark.parametrize(
    ("title", "outline"),
    [
        ('error: the call must fail with "x" in its error, but it succeeded', "error: the call must fail"),
        ('answer: $.branch must be "HEAD", is "N"', "answer: $.branch must be"),
        ("answer: $.ready must have N items, has N: [N, N]", "answer: $.ready must have N item, has N"),
        ("answer: $.cycles[N].plan must be null, is {}", "answer: $.cycles[N].plan must be null, is"),
    ],
)
def test_outline_of_a_cause_has_no_values(title: str, outline: str) -> None:
    """In a run of all fixtures the example of a cause may be another one than in the record, with other values."""
    assert causes.outline(title) == outline


def test_cause_that_does_not_fit_its_note_is_found() -> None:
    """A report whose causes are not the recorded one, or do not show what the note names, is a fault."""
    name = "add-counts-from-zero"
    miniature = MINIATURES[name]
    failed = failed_at_once({name: [FIXTURES[NOTED[name][0]]]})[name]
    assert causes.fault(miniature, CAUSES[name], failed) == ""
    assert "is not one of" in causes.fault(miniature, "another cause", failed)
    other = replace(miniature, wrong="task_add numbers plan_issue from 0.")
    assert causes.fault(other, CAUSES[name], failed) == "the report does not show plan_issue"


def test_the_correct_server_passes() -> None:
    """The server that the miniatures deviate from passes every fixture that catches one."""
    ids = sorted({test_id for noted in NOTED.values() for test_id in noted})
    in_memory = [FIXTURES[i] for i in ids if not FIXTURES[i].needs_process and not FIXTURES[i].needs_run]
    assert failed_at_once({CORRECT: in_memory}) == {CORRECT: []}


def test_the_correct_executor_passes() -> None:
    """The small executor that the miniatures deviate from passes each fixture; it knows none of our code."""
    assert caught(None, [fixture for fixture in FIXTURES.values() if fixture.needs_run], jobs=2) == []


def test_every_fixture_catches_something() -> None:
    """catchers.json has for each fixture a miniature or a mutant that it catches, and each of them still exists."""
    found = record.faults([*FIXTURES.values()], *record.read())
    assert not found, "\n".join(found)
