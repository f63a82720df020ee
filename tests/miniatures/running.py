"""Running fixtures against a miniature, in memory or as a process, whatever it needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nexus_mcp.conformance.result import FAILED
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import TargetOptions, in_memory, stdio
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.tools import TOOLS
from nexus_mcp.workspace import Workspace
from tests.miniatures.base import EVENTS, PROCESS, Miniature

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import RunResult
    from nexus_mcp.conformance.target import Target

ROOT = Path(__file__).resolve().parent.parent.parent
ALL = tuple(tool.name for tool in TOOLS)
# Seconds; a miniature that hangs is found out soon, and none of the others comes near.
_TIMEOUT = 2.0
_END_TIMEOUT = 1.0


def concerned(miniature: Miniature, fixtures: Sequence[Fixture]) -> list[Fixture]:
    """The fixtures that ask what deviates and that can be asked of it. To all others it is the correct server."""
    if miniature.needs == EVENTS:
        events = {f"event {name}" for name in miniature.tools}
        return [one for one in fixtures if events.intersection(one.tools) and not one.needs_process]
    tools = set(miniature.tools or ALL)
    process = miniature.needs == PROCESS
    return [one for one in fixtures if tools.intersection(one.tools) and (process or not _slow(one))]


def _slow(fixture: Fixture) -> bool:
    """It starts processes. An event's is not the server's, so what a tool does wrong is seen without."""
    return fixture.needs_process or fixture.needs_events


def target(miniature: Miniature | None) -> Target:
    """A miniature, or the correct server for None, as the runner takes it."""
    name = miniature.name if miniature else "correct"
    process = miniature is not None and miniature.needs == PROCESS
    command = (sys.executable, "-m", "tests.miniatures", name)
    options = TargetOptions(
        environment={"PYTHONPATH": str(ROOT)},
        event_command=(*command, "--event", "{type}"),
        timeout=_TIMEOUT if process else _TIMEOUT * 5,
        end_timeout=_END_TIMEOUT,
    )
    if process:
        return stdio(command, options)

    def app(root: str) -> App:
        return App(Workspace(root)) if miniature is None else miniature.app(root)

    return in_memory(lambda root: build_server(app(root)), options, name)


def judged(miniature: Miniature | None, fixtures: Sequence[Fixture], jobs: int = 1) -> RunResult:
    """The result of running the fixtures. Raises HarnessFault."""
    return run(fixtures, target(miniature), jobs=jobs)


def caught(miniature: Miniature | None, fixtures: Sequence[Fixture], jobs: int = 1) -> list[str]:
    """The ids of those that fail."""
    return [result.test_id for result in judged(miniature, fixtures, jobs).having(FAILED)]
