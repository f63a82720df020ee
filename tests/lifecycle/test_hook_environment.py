"""Hooks with broken folders, links, locks, catalogs or logs around them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.errors import InvalidArguments
from nexus_mcp.lifecycle import EVENTS, guard
from nexus_mcp.store import harness_files, lock
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.lifecycle.hooks import LOG, answer_of, hook, logged
from tests.lifecycle.support import SPAWN, TRACKER, Teller
from tests.support import Json, Project, compact, without_lock

PAYLOAD: dict[str, Json] = {**SPAWN, "tool": "Edit", "prompt": "[m] SECRET", "session_id": "s", "file": "SECRET"}
WRITERS = ("session_start", "subagent_spawn", "post_tool_use", "session_end")


def told(project: Project, event: str) -> dict[str, Json]:
    """Return the answer of a hook that failed, after checking that it continues with a warning."""
    answer = answer_of(hook(event, project.root, compact(PAYLOAD).encode()))
    assert answer["decision"] == "continue"
    assert answer["warnings"] != []
    return answer


@pytest.mark.requirement("events.failed")
@pytest.mark.parametrize("event", WRITERS)
@pytest.mark.parametrize("place", [".nexus", ".nexus/state", ".nexus/state/nexus-mcp"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_link_in_place_of_a_folder_is_not_written(project: Project, event: str, place: str, kind: str) -> None:
    """If a link or a file is in the place of a folder, nothing is written, and the session continues."""
    outside = project.root.parent / "outside"
    outside.mkdir()
    path = project.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        path.symlink_to(outside)
    else:
        path.write_text("x")
    before = without_lock(project.snapshot())
    if place.endswith("nexus-mcp") and event == "post_tool_use":
        assert answer_of(hook(event, project.root, compact(PAYLOAD).encode()))["logged"] is True
    else:
        told(project, event)
        assert without_lock(project.snapshot()) == before
    assert list(outside.iterdir()) == []


@pytest.mark.requirement("events.failed", "events.logged")
@pytest.mark.parametrize("event", [event for event in WRITERS if event != "subagent_spawn"])
def test_held_lock_is_reported_with_its_holder(project: Project, monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """A hook waits for a held lock for a while, then names its holder; the log needs no lock."""
    project.put("state/plan.json", "{}")
    monkeypatch.setattr(guard, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(guard.begin, "__defaults__", (None, 0.05))
    with Folder.root(str(project.state)) as state, lock.acquire(state):
        answer = guard.answer_event(event, PAYLOAD, Workspace(str(project.root)))
    warning = answer["warnings"][0]
    assert answer["decision"] == "continue"
    assert f"Could not get the lock .nexus/state/lock: process {os.getpid()} has " in warning
    assert [line["event"] for line in logged(project)] == [event]


def test_the_wait_is_short() -> None:
    """A hook waits for the lock for 2 seconds at most."""
    assert (guard.WAIT_SECONDS, guard.begin.__defaults__) == (2.0, (None, 2.0))


@pytest.mark.requirement("events.failed", "events.logged")
def test_internal_error_is_not_quoted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of an internal error is not repeated, because it may quote the value that caused it."""

    def broken(*_: object) -> None:
        raise TypeError("SECRET")

    monkeypatch.setattr(guard, "check_params", broken)
    project.state.mkdir(parents=True)
    answer = guard.answer_event("user_message", PAYLOAD, Workspace(str(project.root)))
    (warning,) = answer["warnings"]
    assert "nexus-mcp has a fault of its own: TypeError (lifecycle/test_hook_environment.py, line " in warning
    assert "SECRET" not in compact(answer) + compact(logged(project))


@pytest.mark.requirement("events.failed")
@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_answered_with_all_files_broken(project: Project, event: str) -> None:
    """With every file broken, each event has an answer, no file is lost, and an agent gets every restriction."""
    names = ("state/plan.json", "state/tasks.json", "state/tool-log.jsonl", "history.json", "capability-map.yml")
    own = ("agent-tracker.json", "memory-access.jsonl", "remembered.extension.json", "agents.extension.jsonl")
    for name in (*names, *(f"state/nexus-mcp/{name}" for name in own), "agents/engineer/meta.yml", "config.yml"):
        project.put(name, "{ SECRET \ud83d".encode("utf-8", "surrogatepass"))
    (project.nexus / "memory").symlink_to(project.root)
    ran = hook(event, project.root, compact({**PAYLOAD, "harness_id": "nexus-mcp"}).encode())
    answer = answer_of(ran)
    assert answer["decision"] == ("deny" if event == "pre_tool_use" else "continue")
    assert "SECRET" not in ran.out
    kept = [path for path, content in project.snapshot().items() if isinstance(content, bytes) and b"SECRET" in content]
    assert len(kept) == len(names) + len(own) + 2


@pytest.mark.requirement("events.logged")
def test_the_log_is_bounded(project: Project) -> None:
    """The log stays below 64 KiB, with one older file of the same; no line of it is longer than it may be."""
    workspace = Workspace(str(project.root))
    project.state.mkdir(parents=True)
    for number in range(200):
        harness_files.log_hook_error(workspace, "2026-01-02T03:04:05.000Z", "session_end", f"{number} " + "é" * 5000)
    older = LOG.replace("hook-errors", "hook-errors.old")
    sizes = [(project.root / path).stat().st_size for path in (LOG, older)]
    assert max(sizes) <= harness_files.ERROR_LOG_MAX_BYTES
    errors = [line["error"] for line in (*logged(project, older), *logged(project))]
    numbers = [int(error.split()[0]) for error in errors]
    assert numbers == list(range(numbers[0], 200))
    assert {len(error) for error in errors} == {harness_files.ERROR_MAX_CHARACTERS}


@pytest.mark.requirement("events.logged")
def test_simultaneous_failures_lose_no_log_line(project: Project) -> None:
    """Hooks that fail at once lose no log line, even while the full log is renamed."""
    workspace = Workspace(str(project.root))
    project.state.mkdir(parents=True)
    harness_files.log_hook_error(workspace, "2026-01-02T03:04:05.000Z", "first", "x")

    def fail(name: str) -> None:
        for number in range(30):
            harness_files.log_hook_error(workspace, "2026-01-02T03:04:05.000Z", f"{name}-{number}", "x" * 500)

    threads = [threading.Thread(target=fail, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = {line["event"] for line in logged(project)}
    older = (project.state / "nexus-mcp").glob("*.old.jsonl")
    seen |= {line["event"] for path in older for line in logged(project, str(path))}
    assert seen == {"first", *(f"{name}-{number}" for name in "abc" for number in range(30))}


@pytest.mark.requirement("events.logged")
@pytest.mark.parametrize("kind", ["link", "folder", "second name"])
def test_linked_log_is_not_written(project: Project, kind: str) -> None:
    """A log that is a link, a folder or a second name of a file is not written; the answer is the same."""
    outside = project.root / "outside"
    outside.write_text("")
    log = project.root / LOG
    log.parent.mkdir(parents=True)
    make: dict[str, Callable[[], None]] = {
        "link": lambda: log.symlink_to(outside),
        "folder": log.mkdir,
        "second name": lambda: os.link(outside, log),
    }
    make[kind]()
    answer = answer_of(hook("session_end", project.root, b"["))
    assert answer["decision"] == "continue"
    assert outside.read_text() == ""


@pytest.mark.requirement("agents.parallel", "post_tool_use.log")
def test_parallel_hooks_lose_nothing(fast_path: Path) -> None:
    """Hooks of eight processes at once lose nothing: each agent is tracked, each use logged, each read counted."""
    code = """
import sys
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.workspace import Workspace
root, who = sys.argv[1:]
for number in range(10):
    own = {"harness_id": "claude-code", "agent_id": f"{who}-{number}", "agent_name": "engineer"}
    said = [answer_event("subagent_spawn", own, Workspace(root)),
            answer_event("post_tool_use", {**own, "tool": "Read", "file": ".nexus/memory/a.md"}, Workspace(root)),
            answer_event("subagent_complete", own, Workspace(root))]
    assert not any(one["warnings"] for one in said), said
"""
    project = Project(fast_path)
    project.put("memory/a.md", "A")
    running = [subprocess.Popen([sys.executable, "-c", code, str(project.root), str(who)]) for who in range(8)]
    assert [process.wait(timeout=120) for process in running] == [0] * 8
    wanted = sorted(f"{who}-{number}" for who in range(8) for number in range(10))
    agents = project.json("state/claude-code/agent-tracker.json")
    assert sorted(entry["agent_id"] for entry in agents) == wanted
    assert {entry["status"] for entry in agents} == {"completed"}
    uses = [json.loads(line) for line in project.get("state/tool-log.jsonl").decode().splitlines()]
    assert sorted(use["agent_id"] for use in uses) == wanted
    (line,) = project.get("state/claude-code/memory-access.jsonl").decode().splitlines()
    assert json.loads(line)["access_count"] == 80


def test_event_without_a_workspace_is_answered() -> None:
    """Without a project there is an answer all the same."""
    answer = guard.answer_failure("session_end", "Nowhere.", None)
    assert answer["warnings"] == ["The event session_end could not be handled: Nowhere."]
    assert guard.fault_of(InvalidArguments(["x is required"])).startswith("x is required. Fix the hook")


def test_event_after_a_logged_failure_finds_its_folders(tell: Teller, project: Project) -> None:
    """After a failure the next event works: the log created all folders, and git ignores them."""
    hook("agent_spawn", project.root, b"[")
    tell("agent_spawn", **SPAWN)
    assert (project.root / TRACKER).exists()
    assert project.get(".gitignore") == b"state/\n"
