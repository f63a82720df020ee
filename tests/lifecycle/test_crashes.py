"""Crashes, disk errors and several processes: the tracker is the old or the new one, and no event is lost."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import NexusError, NotConfirmed
from tests.lifecycle.support import ACCESS, SPAWN, TRACKER, Teller
from tests.store.crash_points import dying_at, failing_at, killed

CALLS: dict[str, dict[str, Any]] = {
    "agent_spawn": {"agent_name": "tester", "agent_id": "a2"},
    "agent_resume": {"agent_id": "a1"},
    "agent_complete": {"agent_id": "a1", "last_message": "done"},
    "session_start": {"source": "startup"},
    "session_end": {},
}
SPAWNING = """
import sys
from tests.events import handle
from nexus_mcp.workspace import Workspace
for number in range(int(sys.argv[3])):
    params = {"agent_name": "engineer", "agent_id": f"{sys.argv[2]}-{number}"}
    handle("agent_spawn", params, Workspace(sys.argv[1]))
"""


def prepared(root: Path) -> Teller:
    root.mkdir()
    tell = Teller(root, lambda: 1_767_323_045.25)
    tell("agent_spawn", **SPAWN)
    return tell


def left(root: Path) -> tuple[Any, bool]:
    """Return (the tracker, None if absent; whether the record of reads exists)."""
    tracker = root / TRACKER
    return json.loads(tracker.read_text()) if tracker.exists() else None, (root / ACCESS).exists()


def outcomes(root: Path, event: str) -> tuple[list[tuple[Any, bool]], int]:
    """Return (the possible states after an event that was killed, the last one being the complete one; its number of
    system calls).
    """
    tell = prepared(root)
    before = left(root)
    with dying_at(sys.maxsize) as seen:
        tell(event, **CALLS[event])
    after = left(root)
    between = [(before[0], after[1])] if event == "session_end" else []
    return [before, *between, after], len(seen.names)


@pytest.mark.requirement("agents.crash")
@pytest.mark.parametrize("event", CALLS)
def test_event_killed_at_any_call_leaves_whole_files(fast_path: Path, event: str) -> None:
    """After a kill at any system call the files are the old ones or the new ones, and the event can be repeated."""
    allowed, calls = outcomes(fast_path / "undisturbed", event)
    seen = []
    for number in range(1, calls + 1):
        root = fast_path / str(number)
        tell = prepared(root)
        assert killed(number, lambda tell=tell: tell(event, **CALLS[event])) is None  # type: ignore[misc]
        found = left(root)
        assert found in allowed, f"died before call {number}"
        seen.append(allowed.index(found))
        tell(event, **CALLS[event])
        tell("agent_spawn", agent_name="writer", agent_id="a3")
        own = (root / TRACKER).parent
        assert {path.name for path in own.iterdir()} <= {"agent-tracker.json", "memory-access.jsonl"}
    assert seen == sorted(seen)
    assert {0, len(allowed) - 1} <= set(seen)


@pytest.mark.requirement("agents.crash")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("event", CALLS)
def test_disk_error_at_any_call_is_reported_truthfully(fast_path: Path, event: str, code: int) -> None:
    """A disk error fails the event with the old files, or the message says that the new ones are not confirmed."""
    allowed, calls = outcomes(fast_path / "undisturbed", event)
    for number in range(1, calls + 1):
        root = fast_path / str(number)
        tell = prepared(root)
        try:
            with failing_at(number, code):
                tell(event, **CALLS[event])
        except NotConfirmed:
            assert left(root) in allowed[1:], f"failed at call {number}"
        except NexusError:
            assert left(root) in allowed[:-1], f"failed at call {number}"
        else:
            assert left(root) == allowed[-1], f"failed at call {number}"


@pytest.mark.requirement("agents.crash")
def test_a_first_event_that_fails_leaves_nothing(fast_path: Path) -> None:
    """In an unused project a spawn that the disk refuses leaves no file and no folder."""
    root = fast_path / "counted"
    root.mkdir()
    with dying_at(sys.maxsize) as seen:
        Teller(root)("agent_spawn", **SPAWN)
    last = max(number for number, name in enumerate(seen.names, 1) if name == "write")
    root = fast_path / "failing"
    root.mkdir()
    with failing_at(last, errno.ENOSPC), pytest.raises(NexusError, match="No space left"):
        Teller(root)("agent_spawn", **SPAWN)
    assert list(root.iterdir()) == []


@pytest.mark.requirement("agents.parallel")
def test_four_processes_lose_no_agent(fast_path: Path) -> None:
    """Four processes that spawn 25 agents each end with 100 agents in the tracker."""
    running = [
        subprocess.Popen([sys.executable, "-c", SPAWNING, str(fast_path), str(index), "25"]) for index in range(4)
    ]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    entries = json.loads((fast_path / TRACKER).read_text())
    expected = sorted(f"{who}-{number}" for who in range(4) for number in range(25))
    assert sorted(entry["agent_id"] for entry in entries) == expected
