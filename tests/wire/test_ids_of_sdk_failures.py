"""The same without free resources for `serve --sdk`, and for real processes of both kinds of server."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from nexus_mcp.server import pipes
from nexus_mcp.server.sdk import pump, serve_sdk
from nexus_mcp.server.subscriptions.streams import Streams
from nexus_mcp.store import codec
from nexus_mcp.store.poller import Poller
from tests.wire.connection import Json, Talk, call, initialize, notification, request
from tests.wire.fake_tools import FakeApp
from tests.wire.test_ids_of_failures import CALL, ERRORS, LOOK, SUBSCRIBE, once, raising

Patch = pytest.MonkeyPatch

SDK_PLACES: dict[str, tuple[Callable[[Patch, BaseException], None], Json]] = {
    "read the line": (lambda patch, error: once(patch, codec.STRICT, "decode", error), CALL),
    "take note of a request": (lambda patch, error: once(patch, pump.Pump, "_admit", error), CALL),
    "make the SDK's message": (lambda patch, error: once(patch, pump, "_for_sdk", error), LOOK),
    "make the SDK's message of a subscription": (
        lambda patch, error: once(patch, pump, "_for_sdk", error),
        request(7, "subscriptions/listen", {"notifications": {}}),
    ),
    "run a call": (lambda patch, error: patch.setattr(FakeApp, "call", raising(error)), CALL),
    "run a look": (lambda patch, error: patch.setattr(FakeApp, "read", raising(error)), LOOK),
    "list the tools": (lambda patch, error: patch.setattr(FakeApp, "tools", raising(error)), request(7, "tools/list")),
    "make the text of an answer": (lambda patch, error: once(patch, pipes, "_dump", error), CALL),
    "subscribe": (lambda patch, error: patch.setattr(Streams, "subscribe", raising(error)), SUBSCRIBE),
    "watch": (lambda patch, error: patch.setattr(Poller, "add", raising(error)), SUBSCRIBE),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("place", SDK_PLACES)
def test_the_sdk_answers_under_the_id_too(monkeypatch: Patch, place: str, error: str) -> None:
    """It has its own code for some of these."""
    break_it, asked = SDK_PLACES[place]
    talk = Talk(FakeApp().as_app(), serve_sdk)
    talk.ask(initialize())
    talk.send(notification("notifications/initialized"))
    talk.ask(request(0, "ping"))  # so that the notification was read
    with monkeypatch.context() as patch:
        break_it(patch, ERRORS[error])
        answer = talk.ask(asked)
    assert answer["id"] == 7
    assert "error" in answer
    assert talk.ask(call(8, "echo", text="x"))["result"]["structuredContent"] == {"text": "x"}
    assert talk.end() == []


def test_the_sdk_writes_without_a_thread(monkeypatch: Patch) -> None:
    """If no thread can be started, the response is sent nevertheless."""
    real = anyio.to_thread.run_sync

    async def refuse(act: Any, *args: Any, **named: Any) -> Any:
        if getattr(act, "__name__", "") == "send":
            raise RuntimeError("can't start new thread")
        return await real(act, *args, **named)

    monkeypatch.setattr(anyio.to_thread, "run_sync", refuse)
    talk = Talk(FakeApp().as_app(), serve_sdk)
    assert talk.ask(initialize())["id"] == 0
    assert talk.end() == []


@contextmanager
def real_server(root: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "nexus_mcp", "serve", "--project", str(root), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        try:
            yield server
        finally:
            server.kill()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux alone sets limits of another process")
@pytest.mark.parametrize("words", [(), ("--sdk",)])
def test_process_without_descriptors_answers_every_method(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Every method that a client may call is answered under its id by a server that can open nothing any more."""
    asked = [
        request(1, "resources/list"),
        request(2, "resources/templates/list"),
        request(3, "resources/read", {"uri": "nexus://plan"}),
        request(4, "prompts/list"),
        request(5, "prompts/get", {"name": "nx-plan"}),
        request(6, "completion/complete", {
            "ref": {"type": "ref/prompt", "name": "nx-plan"}, "argument": {"name": "topic", "value": ""},
        }),
        request(7, "resources/subscribe", {"uri": "nexus://plan"}),
        request(8, "tools/list"),
        call(9, "task_list"),
        call(10, "task_add", title="t", context="c"),
        request(11, "ping"),
        request(12, "no/such"),
    ]  # fmt: skip

    def exchange(server: subprocess.Popen[bytes], message: Json) -> Json:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())

    with real_server(tmp_path, *words) as server:
        exchange(server, initialize())
        assert server.stdin is not None
        server.stdin.write(json.dumps(notification("notifications/initialized")).encode() + b"\n")
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, 3))  # poll(2) takes no more than that either
        assert [exchange(server, message)["id"] for message in asked] == [message["id"] for message in asked]
