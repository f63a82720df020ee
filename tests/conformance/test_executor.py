"""Fixtures of the group executor: our own run passes each, and what the runner does with a command that misbehaves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.fixture import Fixture, build_fixture
from nexus_mcp.conformance.result import FixtureResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions, parse_run_command
from nexus_mcp.conformance.target import in_memory
from nexus_mcp.conformance.trial import executing
from nexus_mcp.errors import HarnessFault
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.workspace import Workspace
from tests.conformance.suite import packaged
from tests.conftest import CHECKOUT

FIXTURES = {fixture.test_id: fixture for fixture in packaged() if fixture.needs_run}
OURS = (sys.executable, "-m", "nexus_mcp", "run", "--trust", "--headless", "--merge", "never", "--status-file")
TASK = {"id": 1, "title": "One", "context": "c", "status": "pending", "deps": [], "created_at": "2026-01-01T00:00:00Z"}


def result(fixture: Fixture, command: tuple[str, ...], seconds: float = 120.0) -> FixtureResult:
    """Run one fixture against a run command; return its result."""
    options = TargetOptions(environment={"PYTHONPATH": str(CHECKOUT)}, run_command=command, run_timeout=seconds)
    target = in_memory(lambda root: build_server(App(Workspace(root))), options)
    (found,) = run([fixture], target).results
    return found


def made(**asserted: Any) -> Fixture:
    """Return a fixture with one task and one run."""
    raw = {
        "test_id": "one",
        "description": "One task.",
        "precondition": {"state_files": {".nexus/state/tasks.json": {"goal": "", "decisions": [], "tasks": [TASK]}}},
        "steps": [{"run": {}, "assert_return": {f"$.{name}": value for name, value in asserted.items()}}],
    }
    return build_fixture(raw, "one.json", "")


def script(tmp_path: Path, text: str) -> tuple[str, ...]:
    """Return a run command that is a Python program; S is the path of the status file, P that of the project."""
    path = tmp_path / "program.py"
    path.write_text(f"import os, sys, json, time, subprocess\nS, P = sys.argv[1], os.getcwd()\n{text}")
    return (sys.executable, str(path), "{status}")


def problems(found: FixtureResult) -> list[str]:
    return [one.message for one in found.assertions if not one.passed]


@pytest.mark.parametrize("name", FIXTURES)
def test_our_own_run_passes(name: str) -> None:
    """`nexus-mcp run` with the scripted agent as a template driver passes the fixture."""
    assert problems(result(FIXTURES[name], (*OURS, "{status}"))) == []


def test_half_a_status_file_is_seen(tmp_path: Path) -> None:
    """A status file that is never whole JSON is counted while the command works, and is null in the answer."""
    command = script(tmp_path, "open(S, 'w').write('{\"run\"'); time.sleep(0.3)")
    found = result(made(status=None, exit=0), command)
    assert problems(found) == []
    assert found.exchanges[0].answer["seen"]["unwhole"] > 0


def test_processes_left_running_are_found(tmp_path: Path) -> None:
    """A command that ends and leaves a process behind is named, and the process is ended."""
    found = result(made(exit=0), script(tmp_path, "subprocess.Popen(['sleep', '60'])"))
    assert any("processes that it started still run: sleep" in text for text in problems(found))


def test_a_command_that_does_not_end_fails(tmp_path: Path) -> None:
    """A run has a time limit."""
    found = result(made(exit=0), script(tmp_path, "time.sleep(600)"), seconds=0.5)
    assert problems(found) == ["the executor did not end within 0.5 s"]


def test_a_changed_checkout_fails(tmp_path: Path) -> None:
    """A file that the command writes into the user's checkout is found, although no assertion names it."""
    found = result(made(exit=0), script(tmp_path, "open('stray', 'w').write('x')"))
    assert problems(found) == ["the target changed files outside .nexus: stray"]


def test_a_command_without_its_status_file_is_refused() -> None:
    """{status} has to be in the command, and the message has an example."""
    with pytest.raises(HarnessFault) as told:
        parse_run_command("nexus-mcp run", "--run-command")
    assert told.value.faults == ["--run-command needs {status} where the path of the status file belongs."]


def test_a_missing_command_gives_no_verdict() -> None:
    """A command that cannot be started is a fault of the call, not of the target."""
    with pytest.raises(HarnessFault) as told:
        result(made(exit=0), ("no-such-program-here", "{status}"))
    assert "could not be started" in told.value.faults[0]


def test_without_a_run_command_it_is_not_run() -> None:
    """The result says what is missing."""
    target = in_memory(lambda root: build_server(App(Workspace(root))), TargetOptions())
    (found,) = run([made(exit=0)], target).results
    assert (found.status, found.reason) == ("not run", "needs --run-command")


SESSION = {"kind": "session", "task": 1, "cwd": "/w/1", "tasks": ["in_progress"]}
END = {"kind": "end", "task": 1, "cwd": "/w/1"}
CHECK = {"kind": "check", "passed": True, "cwd": "/w/1", "tasks": ["in_progress"]}
MERGED = {**CHECK, "cwd": "/w/merged"}
FAILED = {**CHECK, "passed": False}


@pytest.mark.parametrize(
    ("journal", "unchecked"),
    [
        ([SESSION, END, CHECK], 0),
        ([SESSION, END, MERGED], 0),
        ([SESSION, END], 1),
        ([SESSION, END, FAILED], 1),
        ([CHECK, SESSION, END], 1),
        ([SESSION, CHECK, END], 1),
        ([SESSION, MERGED, END], 1),
        ([SESSION, CHECK, END, CHECK], 0),
        ([SESSION, END, CHECK, SESSION, CHECK], 1),
        ([SESSION, END, {**CHECK, "tasks": ["completed"]}], 1),
    ],
)
def test_a_check_counts_after_the_end_of_the_session(journal: list[dict[str, Any]], unchecked: int) -> None:
    """A check before or during the session has not seen all of its work."""
    assert executing.count_unchecked([{"id": 1, "status": "completed"}], journal) == unchecked
