"""Short reads run in the event loop, without a lock; all other calls run in a thread."""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import calls
from nexus_mcp.store.access import LockNeeded
from nexus_mcp.workspace import Workspace
from tests.server.http.test_guard import run
from tests.support import READ_ONLY, SMALLEST, Project
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server.http.serving import Client

READ = modern(1, "tools/call", name="task_list", arguments={})
WRITE = modern(2, "tools/call", name="task_add", arguments=SMALLEST["task_add"])


class Noting(App):
    """An app that notes whether each call ran in the event loop. `ticks` is how far the clock moves in a call."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        super().__init__(workspace)
        self.clock = clock
        self.in_loop: list[bool] = []

    def call(self, name: str, arguments: Any, *more: Any, **caller: Any) -> Any:
        self.in_loop.append(threading.current_thread() is threading.main_thread())
        self.clock.now += self.clock.call_s
        return super().call(name, arguments, *more, **caller)


class Clock:
    """The clocks of calls.py. Each call takes `call_s` seconds and as much of a processor."""

    def __init__(self, call_s: float = 0.0) -> None:
        self.now = 0.0
        self.call_s = call_s

    def perf_counter(self) -> float:
        return self.now

    thread_time = perf_counter


@pytest.fixture
def noting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[bool]]:
    """Make calls one after the other. Return whether each ran in the event loop."""

    def answer(*messages: Any, seconds: tuple[float, ...] = ()) -> list[bool]:
        clock = Clock()
        monkeypatch.setattr(calls, "time", clock)
        made: list[Noting] = []

        def make(workspace: Workspace) -> App:
            made.append(Noting(workspace, clock))
            return made[-1]

        async def work(client: Client) -> None:
            for message, call_s in zip(messages, (*seconds, *([0.0] * len(messages))), strict=False):
                clock.call_s = call_s
                assert (await client.modern(message)).status == 200

        run(tmp_path, work, make_app=make)
        return made[0].in_loop

    return answer


def test_read_runs_in_the_loop_after_a_short_one(noting: Callable[..., list[bool]]) -> None:
    """How long the first one takes is unknown, so a thread runs it."""
    assert noting(READ, READ, READ) == [False, True, True]


def test_write_always_runs_in_a_thread(noting: Callable[..., list[bool]]) -> None:
    """A write waits for the disk, however short the last one was."""
    assert noting(WRITE, WRITE, WRITE) == [False] * 3


def test_long_read_leaves_the_loop_until_it_is_short_again(noting: Callable[..., list[bool]]) -> None:
    """A list that grew, or a disk that became slow, holds up other requests once."""
    seconds = (0.0, calls.SHORT_S, calls.SHORT_S, 0.0, 0.0)
    assert noting(*[READ] * 5, seconds=seconds) == [False, True, False, False, True]


def test_each_tool_is_judged_by_itself(noting: Callable[..., list[bool]]) -> None:
    """A short call of one tool says nothing about another one."""
    numbers = count(1)
    messages = [modern(next(numbers), "tools/call", name=name, arguments=SMALLEST[name]) for name in sorted(READ_ONLY)]
    assert noting(*messages) == [False] * len(messages)


def test_tool_with_parameters_always_runs_in_a_thread(noting: Callable[..., list[bool]]) -> None:
    """A search of a long history takes seconds, whatever the last one took: its arguments decide."""
    short = modern(1, "tools/call", name="history_search", arguments={"last_n": 1})
    long = modern(2, "tools/call", name="history_search", arguments={"query": "a" * 1000})
    assert noting(short, short, long) == [False] * 3


def test_call_with_unexpected_arguments_runs_in_a_thread(noting: Callable[..., list[bool]]) -> None:
    """Checking four megabytes of arguments takes long, although the tool takes none."""
    assert noting(READ, READ, modern(3, "tools/call", name="task_list", arguments={"a": 1})) == [False, True, False]


def test_incomplete_change_is_completed_in_a_thread(
    tmp_path: Path, noting: Callable[..., list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read in the loop that finds a journal gives up, and is made again where it may wait."""
    root = tmp_path / "project"
    root.mkdir()
    real = App.call_without_lock

    def with_journal(app: App, *given: Any, **caller: Any) -> Any:
        Project(root).put("state/txn.json", b"{}")
        return real(app, *given, **caller)

    monkeypatch.setattr(App, "call_without_lock", with_journal)
    Project(root).put("state/tasks.json", {"goal": "", "decisions": [], "tasks": []})
    assert noting(READ, READ) == [False, True, False]


def test_lock_is_not_taken_without_lock(tmp_path: Path) -> None:
    """With a journal, any reading tool would take the lock: it raises LockNeeded, and the journal stays as it is."""
    project = Project(tmp_path)
    project.put("state/tasks.json", {"goal": "", "decisions": [], "tasks": []})
    project.put("state/txn.json", b"{}")
    before = project.snapshot()
    app = App(Workspace(str(tmp_path)))
    for name in sorted(READ_ONLY):
        with pytest.raises(LockNeeded):
            app.call_without_lock(name, SMALLEST[name])
    assert project.snapshot() == before
    (tmp_path / ".nexus/state/txn.json").unlink()
    assert app.call_without_lock("task_list", {}).result["isError"] is False
