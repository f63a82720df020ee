"""Run fixtures against a miniature, in memory or as a process."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from nexus_mcp.conformance.failures import Reply
from nexus_mcp.conformance.result import FAILED
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import in_memory, stdio
from nexus_mcp.conformance.trial import steps
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.tools import TOOLS
from nexus_mcp.workspace import Workspace
from tests.forks import MEMORY
from tests.miniatures.__main__ import CORRECT, told
from tests.miniatures.base import EVENTS, EXECUTOR, PROCESS, Miniature
from tests.miniatures.table import MINIATURES

if TYPE_CHECKING:
    from nexus_mcp.conformance.client.connection import Manner
    from nexus_mcp.conformance.fixture import Event, Fixture
    from nexus_mcp.conformance.result import FixtureResult, RunResult
    from nexus_mcp.conformance.target import Place, Target

ROOT = Path(__file__).resolve().parent.parent.parent
ALL = tuple(tool.name for tool in TOOLS)
# Seconds: short for miniatures that hang, and much longer than any other one needs.
_TIMEOUT = 2.0
_END_TIMEOUT = 1.0
_AT_ONCE = 8
_judged: ContextVar[str] = ContextVar("the name of the server that the fixture of this task judges", default=CORRECT)


def concerned(miniature: Miniature, fixtures: Sequence[Fixture]) -> list[Fixture]:
    """Return the fixtures that call a deviating tool and can run against the miniature. All others would pass."""
    if miniature.needs == EVENTS:
        events = {f"event {name}" for name in miniature.tools}
        return [one for one in fixtures if events.intersection(one.tools) and not one.needs_process]
    if miniature.needs == EXECUTOR:
        return [one for one in fixtures if one.needs_run]
    tools = set(miniature.tools or ALL)
    process = miniature.needs == PROCESS
    return [one for one in fixtures if tools.intersection(one.tools) and (process or not _slow(one))]


def _slow(fixture: Fixture) -> bool:
    """Return whether the fixture starts processes, for servers or events. Faster fixtures show the faults of tools."""
    return fixture.needs_process or fixture.needs_events or fixture.needs_run


def target(miniature: Miniature | None) -> Target:
    """Return the target for a miniature, or for the correct server if it is None."""
    name = miniature.name if miniature else "correct"
    process = miniature is not None and miniature.needs == PROCESS
    command = (sys.executable, "-m", "tests.miniatures", name)
    options = TargetOptions(
        environment={"PYTHONPATH": str(ROOT)},
        event_command=(*command, "--event", "{type}"),
        run_command=(sys.executable, "-m", "tests.miniatures.executor", name, "{status}"),
        timeout=_TIMEOUT if process else _TIMEOUT * 5,
        end_timeout=_END_TIMEOUT,
    )
    if process:
        wrong = stdio(command, options)
        wrong.manner = _manner()
        return wrong

    def app(root: str) -> App:
        return App(Workspace(root)) if miniature is None else miniature.app(root)

    return in_memory(lambda root: build_server(app(root)), options, name)


@cache
def _manner() -> Manner | None:
    """Return how a client connects to the correct server, and so to a wrong one: no process has to be probed."""
    correct = target(None)
    run([], correct)
    return correct.manner


def judged(miniature: Miniature | None, fixtures: Sequence[Fixture], jobs: int = 1) -> RunResult:
    """Run the fixtures; return the result. Raise HarnessFault."""
    return run(fixtures, target(miniature), jobs=jobs)


def caught(miniature: Miniature | None, fixtures: Sequence[Fixture], jobs: int = 1) -> list[str]:
    """Return the ids of the fixtures that fail."""
    return [result.test_id for result in judged(miniature, fixtures, jobs).having(FAILED)]


def failed_at_once(asked: Mapping[str, Sequence[Fixture]]) -> dict[str, list[FixtureResult]]:
    """Return by name the results of the fixtures that fail against a miniature, or against `correct`, all in one run.

    Servers are in memory, and events are answered in this process. So a miniature that needs a process cannot run.
    """
    every = [
        replace(fixture, test_id=f"{name} {fixture.test_id}")
        for name, asked_of in asked.items()
        for fixture in asked_of
    ]

    def server(root: str) -> object:
        name = _judged.get()
        return build_server(App(Workspace(root)) if name == CORRECT else MINIATURES[name].app(root))

    def start(test_id: str) -> None:  # called in the task of the fixture, which then makes its server
        _judged.set(test_id.partition(" ")[0])

    target = in_memory(server, TargetOptions(event_command=("in this process",), timeout=_TIMEOUT * 5))
    # In a memory file system fsync costs nothing, and these files need not survive.
    with _events_here(), patch.object(tempfile, "tempdir", MEMORY):
        result = run(every, target, jobs=_AT_ONCE, on_start=start)
    found: dict[str, list[FixtureResult]] = {name: [] for name in asked}
    for one in result.having(FAILED):
        name, _, test_id = one.test_id.partition(" ")
        found[name].append(replace(one, test_id=test_id))
    return found


@contextmanager
def _events_here() -> Iterator[None]:
    """Answer events in this process within the block, because a new process spends most of its time on its start."""

    async def answer(event: Event, _: TargetOptions, place: Place) -> Reply:
        params = json.loads(json.dumps(event.params, ensure_ascii=False))
        try:
            text = json.dumps(told(_judged.get(), event.type, params, place.project))
        except Exception as error:  # noqa: BLE001 - a process would end with a traceback and code 1
            return Reply(None, f"{type(error).__name__}: {error}", is_error=True)
        return Reply(json.loads(text), text)

    with patch.object(steps, "send_event", answer):
        yield
