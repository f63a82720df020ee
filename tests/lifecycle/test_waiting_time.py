"""An event waits for the lock and for git within one common time limit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import JournalError, UsageError
from nexus_mcp.lifecycle import guard
from nexus_mcp.merging import repository
from nexus_mcp.store import lock
from nexus_mcp.store.access import HOOK_LIMIT, Deadline
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.lifecycle.support import put
from tests.support import Project

OWN = {"harness_id": "claude-code", "session_id": "s"}
READ = '{"path":".nexus/memory/z.md","last_accessed_ts":"2020-01-01T00:00:00.000Z","access_count":1,"last_agent":"m"}\n'
UNASKED = "memory:\n  delete_unasked:\n    days_unread: 1\n    max_access_count: 0\n    min_age_days: 1\n"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time limit of each wait for the lock, as the store computes it."""
    seen: list[float] = []
    real = lock.acquire

    def noted(state: Folder, wait: float = 1.0, *more: Any) -> Any:
        if more:
            seen.append(wait)
        return real(state, wait, *more)

    monkeypatch.setattr("nexus_mcp.store.lock.acquire", noted)
    monkeypatch.setattr(guard.begin, "__defaults__", (None, 0.05))
    return seen


@pytest.mark.requirement("events.deadline")
def test_many_tags_wait_for_the_lock_once(project: Project, waits: list[float]) -> None:
    """Many tags of a message that need the lock wait for it once; each result is reported."""
    put(project, ".nexus/state/plan.json", "{}")
    prompt = "[rule] Use flex. [rule:css] No ids. [m] Locks are slow. [plan] Faster."
    with Folder.root(str(project.state)) as state, lock.acquire(state):
        answer = guard.answer_event("user_message", {**OWN, "prompt": prompt}, Workspace(str(project.root)))
    assert answer["tags"] == ["rule", "rule:css", "m", "plan"]
    assert answer["context"].count("did nothing: Could not get the lock") == 3
    assert len(waits) >= 4
    assert waits[0] <= 0.05
    assert set(waits[1:]) == {0.0}


@pytest.mark.requirement("events.deadline")
def test_hanging_git_is_called_once(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """A git that hangs is called once, with the event's remaining time as its limit."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\necho >> {tmp_path}/asked\nexec tail -f /dev/null\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(guard.begin, "__defaults__", (None, 2.0))
    project.put("memory/old.md", "x")
    os.utime(project.nexus / "memory/old.md", (1, 1))
    project.put("config.yml", UNASKED)
    project.put("state/claude-code/memory-access.jsonl", READ)
    prompt = "[m:gc] [m:gc] [m:gc]"
    answer = guard.answer_event("user_message", {**OWN, "prompt": prompt}, Workspace(str(project.root)))
    told = [line for line in answer["context"].splitlines() if "did nothing" in line]
    assert ["git did not answer in " in line for line in told] == [True, False, False]
    assert ["No time is left for git rev-parse" in line for line in told] == [False, True, True]
    assert (tmp_path / "asked").read_text() == "\n"
    assert (project.nexus / "memory/old.md").exists()


@pytest.mark.requirement("events.deadline")
def test_shared_limit_shrinks_with_each_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all, each wait takes from the next ones; otherwise each has its own time."""
    now = 100.0
    monkeypatch.setattr("nexus_mcp.store.access.time.monotonic", lambda: now)
    each, in_all = Deadline(2.0), Deadline(2.0, in_all=True)
    assert (each.seconds_left(), in_all.seconds_left(), in_all.seconds_left(10.0), in_all.seconds_left(0.5)) == (
        2.0,
        2.0,
        2.0,
        0.5,
    )
    now = 101.5
    assert (each.seconds_left(), each.seconds_left(10.0), in_all.seconds_left(), in_all.seconds_left(10.0)) == (
        2.0,
        10.0,
        0.5,
        0.5,
    )
    now = 103.0
    assert (each.seconds_left(), in_all.seconds_left(), in_all.seconds_left(10.0)) == (2.0, 0.0, 0.0)


@pytest.mark.requirement("events.deadline")
def test_git_is_not_started_without_time(tmp_path: Path) -> None:
    """Where no time is left git is not started."""
    with pytest.raises(UsageError, match="No time is left for git status in "):
        repository.run_git(str(tmp_path / "nowhere"), "status", seconds=0.0)


@pytest.mark.requirement("events.deadline", "storage.pending")
def test_large_journal_is_left_to_a_tool(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that is too large to be completed in the time of an event is not read; a tool has the time for it."""
    project.put("state/tasks.json", {"goal": "", "decisions": [], "tasks": []})
    path = project.put("state/txn.json", "")
    os.truncate(path, HOOK_LIMIT + 1)
    read: list[str] = []
    real = Folder.read

    def noted(self: Folder, name: str, most: int) -> bytes | None:
        read.append(name)
        return real(self, name, most)

    monkeypatch.setattr(Folder, "read", noted)
    answer = guard.answer_event("session_start", OWN, Workspace(str(project.root)))
    assert ".nexus/state/txn.json should hold a pending change, but is larger than the 16 " in answer["warnings"][0]
    edit = {**OWN, "tool": "Write", "agent_id": "a1", "agent_name": "architect"}
    assert guard.answer_event("pre_tool_use", edit, Workspace(str(project.root)))["decision"] == "deny"
    assert "txn.json" not in read
    with pytest.raises(JournalError, match=r"not JSON|is empty"):
        Store(Workspace(str(project.root))).plan()
    assert "txn.json" in read
