"""Only the read of a memory note is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.app_requests import Asker
from tests.support import Clock, Project

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RECORD = "state/claude/memory-access.jsonl"


@pytest.fixture
def ask(make_app: Any, project: Project) -> Asker:
    project.put("memory/a.md", "a")
    project.put("rules/a.md", "a")
    project.put("context/a.md", "a")
    return Asker(make_app(project.root, harness_id="claude"), "Claude Code")


@pytest.mark.requirement("resources.counted")
def test_each_read_of_a_note_is_counted(ask: Asker, project: Project, clock: Clock) -> None:
    """Each read of a memory note adds one to its count in the record of the harness, with the client as the reader."""
    for count in (1, 2):
        clock.advance()
        ask.text("nexus://memory/a.md")
        assert json.loads(project.get(RECORD)) == {
            "path": ".nexus/memory/a.md",
            "last_accessed_ts": clock.stamp(),
            "access_count": count,
            "last_agent": "Claude Code",
        }


@pytest.mark.requirement("resources.counted")
def test_lists_and_missing_notes_are_not_counted(ask: Asker, project: Project) -> None:
    """Lists, completions, other notes and notes that are not there are no reads."""
    ask.pages("resources/list", "resources")
    ask.text("nexus://knowledge")
    ask.text("nexus://rules/a.md")
    ask.text("nexus://context/a.md")
    ask.refused("resources/read", uri="nexus://memory/b.md")
    ask.complete("nexus://memory/{name}", "name", "a")
    ask.prompt("m", text="x")
    assert "state" not in {path.split("/")[1] for path in project.snapshot() if path.startswith(".nexus/")}


def test_client_without_a_name_counts_as_its_harness(make_app: Any, project: Project) -> None:
    """A read by a client without a name is recorded under its harness."""
    project.put("memory/a.md", "a")
    Asker(make_app(project.root, harness_id="claude"), "").text("nexus://memory/a.md")
    assert json.loads(project.get(RECORD))["last_agent"] == "claude"


def test_long_client_name_is_truncated(make_app: Any, project: Project) -> None:
    """A client name is truncated to the length limit of agent names."""
    project.put("memory/a.md", "a")
    Asker(make_app(project.root, harness_id="claude"), "x" * 1_000_000).text("nexus://memory/a.md")
    assert json.loads(project.get(RECORD))["last_agent"] == "x" * 256


@pytest.mark.skipif(fcntl is None, reason="the lock is of another kind")
def test_read_does_not_wait_long_for_the_count(ask: Asker, project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """While another process holds the lock, a note is read without a long wait; the log names the uncounted read."""
    assert fcntl is not None
    with open(project.put("state/lock", b""), "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert ask.text("nexus://memory/a.md") == "a"
    told = capfd.readouterr().err
    assert "the read of .nexus/memory/a.md was not counted: Could not get the lock .nexus/state/lock" in told
    assert "has held it for 0.25 seconds" in told
    assert ask.text("nexus://memory/a.md") == "a"
    assert json.loads(project.get(RECORD))["access_count"] == 1


def test_uncountable_note_is_read(ask: Asker, project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """A note is read even if the record cannot be written; the log has the failure."""
    project.put(f"{RECORD}/folder", "x")
    assert ask.text("nexus://memory/a.md") == "a"
    assert "the read of .nexus/memory/a.md was not counted" in capfd.readouterr().err
