"""The fixtures of lifecycle events, held against `nexus-mcp hook` by the conformance runner."""

from __future__ import annotations

import sys

from nexus_mcp.conformance.loading import load
from nexus_mcp.conformance.result import PASSED
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import TargetOptions, in_memory
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.workspace import Workspace
from tests.conftest import CHECKOUT


def test_every_fixture_of_an_event_passes() -> None:
    """Whatever the suite asks of events holds for our hook, as a command with the payload on its stdin."""
    fixtures = [fixture for fixture in load() if fixture.needs_events and not fixture.needs_process]
    hook = (sys.executable, "-m", "nexus_mcp", "hook", "{type}")
    options = TargetOptions(environment={"PYTHONPATH": str(CHECKOUT)}, event_command=hook, timeout=60)
    target = in_memory(lambda root: build_server(App(Workspace(root))), options)
    result = run(fixtures, target, jobs=0)
    assert len(fixtures) > 100
    assert [one.test_id for one in result.results if one.status != PASSED] == []
