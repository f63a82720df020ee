"""The wire with the real tools: the workspace lock and the receipts of lost answers."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.server.sdk import serve_sdk
from nexus_mcp.server.stdio import serve
from tests.support import Project
from tests.wire.connection import ROOT, Serve, Talk, call, initialize, line, notification

if TYPE_CHECKING:
    from nexus_mcp.server.app import App

# Serves as the command does, and tells on stderr when a call begins to wait for the lock.
WAITING = """
import os, signal, sys
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
from nexus_mcp.cli import main
from nexus_mcp.store import lock
acquire = lock._flock
def told(*arguments, **named):
    os.write(2, b"waiting\\n")
    return acquire(*arguments, **named)
lock._flock = told
sys.exit(main(["serve", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("options", [[], ["--sdk"]], ids=["stdio", "sdk"])
@pytest.mark.parametrize("ending", ["reading", "full", "ended"])
def test_signal_while_a_call_waits_for_the_lock(project: Project, options: list[str], ending: str) -> None:
    """SIGTERM makes a call that waits for the lock give up, nothing written: reading, queue full or input ended."""
    state = project.root / ".nexus" / "state"
    state.mkdir(parents=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        child = subprocess.Popen(
            [sys.executable, "-c", WAITING, *options],
            cwd=project.root,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        calls = [call(id, "task_add", title="Write", context="Text") for id in range(1, 80 if ending == "full" else 2)]
        child.stdin.write(b"".join(map(line, [initialize(), *calls])))
        child.stdin.flush()
        if ending == "ended":
            child.stdin.close()
        assert child.stderr.readline() == b"waiting\n"
        child.send_signal(signal.SIGTERM)
        answers = {answer["id"]: answer for answer in map(json.loads, child.stdout)}
        assert child.wait(60) == 0
        for stream in (child.stdin, child.stdout, child.stderr):
            stream.close()
    refused = answers[1]["result"]
    assert refused["isError"] is True
    assert "this process is asked to stop" in refused["structuredContent"]["error"]
    assert [id for id, answer in answers.items() if "result" in answer] == [0, 1]
    assert sorted(path.name for path in state.iterdir()) == ["lock"]


@pytest.mark.parametrize("server", [serve, serve_sdk], ids=["stdio", "sdk"])
def test_cancellation_after_the_answer_does_no_harm(
    make_app: Callable[..., App], project: Project, server: Serve
) -> None:
    """A client that cancels each call after its answer does no harm: the next is served, no receipt stays."""
    talk = Talk(make_app(project.root), server)
    talk.ask(initialize())
    calls = [
        call(1, "plan_start", topic="Store", issues=["Where?"], research_summary=""),
        call(2, "plan_decide", issue_id=1, decision="Files"),
        call(3, "task_add", title="Write", context="Text"),
        call(4, "task_update", id=1, status="in_progress"),
        call(5, "task_update", id=1, status="completed"),
        call(6, "task_close"),
        call(7, "context"),
    ]
    answers = []
    for message in calls:
        answers.append(talk.ask(message))
        talk.send(notification("notifications/cancelled", {"requestId": message["id"], "reason": "done"}))
    assert talk.end() == []
    assert [(answer["id"], answer["result"]["isError"]) for answer in answers] == [(id, False) for id in range(1, 8)]
    left = {path.name for path in (project.root / ".nexus").rglob("*")}
    assert not [name for name in left if name.startswith("closed-")]
    assert {"tasks.json", "plan.json"} & left == set()
    assert "history.json" in left
