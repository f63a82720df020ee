"""Our hook passes the fixtures of lifecycle events in the conformance runner."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.conformance.failures import Reply
from nexus_mcp.conformance.fixture import Fixture, Parallel
from nexus_mcp.conformance.result import PASSED
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import in_memory
from nexus_mcp.conformance.trial import steps
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.workspace import Workspace
from tests.conformance.suite import packaged
from tests.conftest import CHECKOUT

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Event
    from nexus_mcp.conformance.target import Place

_HOOK = (sys.executable, "-m", "nexus_mcp", "hook", "{type}")
_EACH = 8
"""One fixture of so many has processes of its own: `make conformance` starts one for each event of all of them."""


def failed(fixtures: list[Fixture]) -> list[str]:
    options = TargetOptions(environment={"PYTHONPATH": str(CHECKOUT)}, event_command=_HOOK, timeout=60)
    target = in_memory(lambda root: build_server(App(Workspace(root))), options)
    return [one.test_id for one in run(fixtures, target, jobs=0).results if one.status != PASSED]


def of_events() -> list[Fixture]:
    return [fixture for fixture in packaged() if fixture.needs_events and not fixture.needs_process]


async def answer_here(event: Event, _: TargetOptions, place: Place) -> Reply:
    """Return the answer of the hook without a process, which would take most of the time."""
    given = json.loads(json.dumps(event.params, ensure_ascii=False))
    answer = json.loads(json.dumps(answer_event(event.type, given, Workspace(place.project))))
    return Reply(answer, json.dumps(answer, ensure_ascii=False))


def test_every_fixture_of_an_event_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our hook passes every fixture of events."""
    monkeypatch.setattr(steps, "send_event", answer_here)
    fixtures = of_events()
    assert len(fixtures) > 100
    assert failed(fixtures) == []


def test_fixtures_pass_as_commands() -> None:
    """It holds for `nexus-mcp hook` as a command with the payload on its stdin, and for events at the same time."""
    fixtures = of_events()
    at_once = [one for one in fixtures if any(isinstance(step.do, Parallel) for step in one.steps)]
    assert failed([*at_once, *(one for one in fixtures[::_EACH] if one not in at_once)]) == []
