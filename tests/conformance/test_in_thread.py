"""Project folders are read in threads, so that a slow one delays no other fixture."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.stopping import in_thread
from nexus_mcp.conformance.target import stdio
from nexus_mcp.conformance.trial import workspace_root
from nexus_mcp.conformance.trial.sandbox import Sandbox
from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot
from tests.conformance.support import NASTY, act, nasty_fixture


def test_work_runs_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read, compared, shown and deleted in threads, never in that of the event loop."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: set[tuple[str, bool]] = set()

    def watched(owner: Any, name: str) -> None:
        work: Callable[..., Any] = getattr(owner, name)

        def watch(*given: Any, **more: Any) -> Any:
            seen.add((name, threading.current_thread() is threading.main_thread()))
            return work(*given, **more)

        monkeypatch.setattr(owner, name, watch)

    for name in ("snapshot", "read", "texts"):
        watched(Sandbox, name)
    watched(workspace_root, "empty_folder")
    steps = (act("mkdir", path=".nexus"), act("write", path=".nexus/a.json", text="[]"))
    more = {"write_file": {"path": "b.json", "json": 1}}
    after = {"state_files": {".nexus/a.json": {"$[0]": 1}}, "unchanged": True}
    run([nasty_fixture(*steps, more, postcondition=after)], stdio(NASTY))
    assert seen == {("snapshot", False), ("read", False), ("texts", False), ("empty_folder", False)}


def test_cancelled_caller_waits_for_its_work() -> None:
    """A cancelled caller waits until its work in the thread has ended, because the work still uses the caller's
    files.
    """

    async def main() -> list[bool]:
        begun, may_end = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def work() -> bool:
            loop.call_soon_threadsafe(begun.set)
            return may_end.wait(60)

        task = asyncio.create_task(in_thread(work))
        await begun.wait()
        task.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        waited = not task.done()
        may_end.set()
        await asyncio.wait({task})
        return [waited, task.cancelled()]

    assert asyncio.run(main()) == [True, True]


def test_sandbox_sees_no_sandbox_in_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of one sandbox while another one is created finds no foreign file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made, mkdir = WorkspaceRoot(), os.mkdir
    first = made.sandbox()
    before, seen = first.snapshot(), []

    def watched(*given: Any, **more: Any) -> None:
        mkdir(*given, **more)
        seen.append(first.snapshot())

    monkeypatch.setattr(os, "mkdir", watched)
    made.sandbox()
    made.remove()
    assert seen == [before, before]
