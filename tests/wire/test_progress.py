"""Progress notifications over stdio, by our loop and by the SDK."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp import progress
from nexus_mcp.server import reports, stdio
from nexus_mcp.server.app import App
from nexus_mcp.server.pipes import Sink
from nexus_mcp.server.sdk import reporting, serve_sdk
from nexus_mcp.server.stopping import Stop
from nexus_mcp.workspace import Workspace
from tests.wire.connection import Talk, call, initialize, modern, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Json = Any
SERVERS = {"stdio": stdio.serve, "sdk": serve_sdk}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report without long waits."""
    monkeypatch.setattr(reporting, "INTERVAL_S", 0.001)
    monkeypatch.setattr(reports, "INTERVAL_S", 0.001)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the lock of the project, as another process does."""
    state = root / ".nexus" / "state"
    state.mkdir(parents=True, exist_ok=True)
    fd = os.open(state / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def adding(id: Json, token: Json = None) -> Json:
    message = call(id, "task_add", title="T", context="C")
    if token is not None:
        message["params"]["_meta"] = {"progressToken": token}
    return message


def is_report(message: Json) -> bool:
    return bool(message.get("method") == "notifications/progress")


def until(talk: Talk, is_last: Callable[[Json], bool]) -> list[Json]:
    """Return the messages up to the first one that is the last."""
    found = [talk.receive()]
    while not is_last(found[-1]):
        found.append(talk.receive())
    return found


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("token", ["a token", 3])
def test_wait_for_the_lock_is_reported(tmp_path: Path, server: str, token: Json) -> None:
    """Both servers report a wait under the token, increasing, and nothing after the response."""
    talk = Talk(App(Workspace(str(tmp_path))), SERVERS[server])
    talk.ask(initialize(1))
    with locked(tmp_path):
        talk.send(adding(2, token))
        seen = [
            one
            for _ in range(3)
            for one in until(talk, lambda one: one["params"]["message"] == progress.WAITING_FOR_LOCK)
        ]
    *more, last = until(talk, lambda one: not is_report(one))
    assert (last["id"], last["result"]["isError"]) == (2, False)
    found = [one["params"] for one in [*seen, *more]]
    assert {one["progressToken"] for one in found} == {token}
    assert all(one.keys() == {"progressToken", "progress", "message"} for one in found)
    values = [one["progress"] for one in found]
    assert values == sorted(set(values))
    assert talk.end() == []


@pytest.mark.parametrize("server", SERVERS)
def test_call_without_a_token_is_not_reported(tmp_path: Path, server: str) -> None:
    """A client without a progress token gets only the responses."""
    talk = Talk(App(Workspace(str(tmp_path))), SERVERS[server])
    talk.ask(initialize(1))
    with locked(tmp_path):
        talk.send(adding(2), request(3, "ping"))
        assert talk.receive()["id"] == 3  # the call waits meanwhile
    assert [one["id"] for one in talk.end()] == [2]


def test_cancelled_call_is_not_reported_further(tmp_path: Path) -> None:
    """After a cancellation no notification follows, and no response."""
    talk = Talk(App(Workspace(str(tmp_path))))
    talk.ask(initialize(1))
    with locked(tmp_path):
        talk.send(adding(2, "t"))
        until(talk, is_report)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        talk.send(cancel, request(3, "ping"))
        until(talk, lambda one: one.get("id") == 3)
    assert talk.end() == []


def test_modern_call_and_reads_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of 2026-07-28 and read requests with a token are reported too."""
    monkeypatch.setattr(reports, "INTERVAL_S", -1.0)
    (tmp_path / ".nexus").mkdir()
    talk = Talk(App(Workspace(str(tmp_path))))
    for id, message in enumerate(
        (
            modern(0, "tools/call", name="history_search", arguments={}),
            modern(1, "resources/read", uri="nexus://history"),
        )
    ):
        # Another file each time: what was read a while ago is not read again.
        (tmp_path / ".nexus" / "history.json").write_text(f'{{"cycles": []}}{" " * id}')
        message["params"]["_meta"] = {**message["params"]["_meta"], "progressToken": "t"}
        talk.send(message)
        *before, last = until(talk, lambda one: not is_report(one))
        assert (last["id"], {one["params"]["message"] for one in before}) == (id, {progress.READING})
    assert talk.end() == []


def test_client_that_does_not_read_holds_up_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notifications that cannot be written at once are dropped: no call holds the lock for a slow client."""
    monkeypatch.setattr(reports, "INTERVAL_S", 0.0)
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    try:
        while True:
            os.write(writes, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writes, True)
    with Stop() as stop:
        sink = Sink(writes, stop)
        listener = reports.Reports("t", sink, lambda: False)
        for _ in range(10):
            listener("stage")  # a write would wait forever
    assert not sink.broken
    os.close(reads)
    os.close(writes)
