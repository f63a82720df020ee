"""Without free descriptors, memory or threads each request is answered under its id, and no notification is."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

import pytest

from nexus_mcp.server import call_queue, pipes, side_reader
from nexus_mcp.server.protocol import Connection
from nexus_mcp.server.subscriptions.streams import Streams
from nexus_mcp.store import codec
from nexus_mcp.store.poller import Poller
from tests.wire.connection import Json, Talk, call, initialize, modern, notification, request
from tests.wire.fake_tools import FakeApp

Patch = pytest.MonkeyPatch
ERRORS = {
    "EMFILE": OSError(errno.EMFILE, "Too many open files"),
    "ENFILE": OSError(errno.ENFILE, "Too many open files in system"),
    "ENOMEM": OSError(errno.ENOMEM, "Cannot allocate memory"),
    "MemoryError": MemoryError(),
    "RuntimeError": RuntimeError("can't start new thread"),
}


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def unloaded(patch: Patch, name: str, error: BaseException) -> None:
    """Let the import of the module `name` fail, as if it was not loaded before."""

    class Finder:
        @staticmethod
        def find_spec(fullname: str, *_: object) -> None:
            if fullname == name:
                raise error

    above, _, last = name.rpartition(".")
    import_module(name)
    patch.delitem(sys.modules, name)
    patch.delattr(import_module(above), last)
    patch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


def once(patch: Patch, owner: Any, name: str, error: BaseException) -> None:
    """Let the next call fail, and the later ones not."""
    real, left = getattr(owner, name), [error]

    def fail(*args: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return real(*args, **named)

    patch.setattr(owner, name, fail)


LOOK, CALL = request(7, "resources/list"), call(7, "echo")
SUBSCRIBE = request(7, "resources/subscribe", {"uri": "nexus://plan"})
UNREADABLE = b'{"jsonrpc": "2.0", "id": 7, "method": "ping", NaN}\n'

# What fails, and the request that meets it.
PLACES: dict[str, tuple[Callable[[Patch, BaseException], None], Json]] = {
    "load what a look needs": (lambda patch, error: unloaded(patch, "nexus_mcp.server.call_queue", error), LOOK),
    "load what calls need": (lambda patch, error: unloaded(patch, "nexus_mcp.server.call_queue", error), LOOK),
    "load subscriptions": (
        lambda patch, error: unloaded(patch, "nexus_mcp.server.subscriptions.streams", error),
        SUBSCRIBE,
    ),
    "read the line": (lambda patch, error: once(patch, codec.STRICT, "decode", error), CALL),
    "tell what is asked": (lambda patch, error: patch.setattr(Connection, "request", raising(error)), LOOK),
    "make the calls": (lambda patch, error: patch.setattr(call_queue.CallQueue, "__init__", raising(error)), CALL),
    "add a call": (lambda patch, error: patch.setattr(call_queue.CallQueue, "add", raising(error)), CALL),
    "add a look": (lambda patch, error: patch.setattr(call_queue.CallQueue, "add", raising(error)), LOOK),
    "make a pipe": (lambda patch, error: patch.setattr(os, "pipe", raising(error)), CALL),
    "make a thread": (lambda patch, error: patch.setattr(side_reader, "start_new_thread", raising(error)), CALL),
    "run a call": (lambda patch, error: patch.setattr(FakeApp, "call", raising(error)), CALL),
    "run a look": (lambda patch, error: patch.setattr(FakeApp, "read", raising(error)), LOOK),
    "make the text of an answer": (lambda patch, error: once(patch, pipes, "_dump", error), CALL),
    "make the text of a pong": (lambda patch, error: once(patch, pipes, "_dump", error), request(7, "ping")),
    "make the text of an error": (lambda patch, error: once(patch, pipes, "_dump", error), request(7, "no/method")),
    "subscribe": (lambda patch, error: patch.setattr(Streams, "subscribe", raising(error)), SUBSCRIBE),
    "watch": (lambda patch, error: patch.setattr(Poller, "add", raising(error)), SUBSCRIBE),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("place", PLACES)
def test_a_request_that_fails_is_answered_under_its_id(monkeypatch: Patch, place: str, error: str) -> None:
    """The request gets one internal error, later requests are served, and there is no other response."""
    break_it, asked = PLACES[place]
    talk = Talk(FakeApp().as_app())
    talk.ask(initialize())
    with monkeypatch.context() as patch:
        break_it(patch, ERRORS[error])
        answer = talk.ask(asked)
    assert (answer["id"], answer["error"]["code"]) == (7, -32603)
    assert talk.ask(call(8, "echo", text="x"))["result"]["structuredContent"] == {"text": "x"}
    assert talk.ask(request(9, "resources/list"))["result"] == {"resources": []}
    assert talk.end() == []


@pytest.mark.parametrize("error", ERRORS)
def test_a_notification_that_fails_is_not_answered(monkeypatch: Patch, error: str) -> None:
    """No client waits for it, and an answer without an id could be matched with another request."""
    talk = Talk(FakeApp().as_app())
    talk.ask(initialize())
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "notify", raising(ERRORS[error]))
        talk.send(notification("notifications/initialized"))
        assert talk.ask(request(1, "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert talk.end() == []


@pytest.mark.parametrize("error", ["EMFILE", "MemoryError"])
@pytest.mark.parametrize("line", [UNREADABLE, b'{"id": 7, "text": "' + b"x" * (5 << 20) + b'"}\n'])
def test_line_without_recoverable_id_is_refused(monkeypatch: Patch, line: bytes, error: str) -> None:
    """A line that is no message, and too long, is refused all the same, and the next one is read from its beginning."""
    talk = Talk(FakeApp().as_app())
    talk.ask(initialize())
    with monkeypatch.context() as patch:
        unloaded(patch, "nexus_mcp.server.recover", ERRORS[error])
        answer = talk.ask(line)
    assert (answer["id"], answer["error"]["code"]) == (None, -32700 if line is UNREADABLE else -32600)
    assert talk.ask(request(1, "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert talk.end() == []


def test_a_close_whose_answer_cannot_be_encoded_counts_as_unanswered(monkeypatch: Patch) -> None:
    """The client got an error: the receipt stays for its retry."""
    app = FakeApp()
    talk = Talk(app.as_app())
    talk.ask(initialize())
    with monkeypatch.context() as patch:
        once(patch, pipes, "_dump", MemoryError())
        assert talk.ask(CALL)["error"]["code"] == -32603
    talk.ask(request(1, "ping"))
    assert talk.end() == []
    assert [event for event in app.events if "deliver" in event] == ["undelivered echo"]


def test_failure_after_the_answer_does_not_repeat_it(monkeypatch: Patch) -> None:
    """The call has its answer, and the next one gets its own."""
    app = FakeApp()
    talk = Talk(app.as_app())
    talk.ask(initialize())

    def note(_: str) -> None:
        raise MemoryError

    monkeypatch.setattr("tests.wire.fake_tools.FakeAnswer.confirm_delivery", note)
    assert talk.ask(call(1, "echo"))["id"] == 1
    assert talk.ask(call(2, "echo"))["id"] == 2
    assert talk.end() == []


def test_a_stream_that_cannot_begin_is_answered_once(monkeypatch: Patch) -> None:
    """Its error is its end: it has no result when the connection ends."""
    talk = Talk(FakeApp().as_app())
    talk.ask(modern(0, "server/discover"))
    with monkeypatch.context() as patch:
        patch.setattr(Streams, "begin", raising(MemoryError()))
        talk.send(modern(7, "subscriptions/listen", notifications={"toolsListChanged": True}))
        told = [talk.receive(), talk.receive()]
    assert [(one.get("id"), "error" in one) for one in told] == [(None, False), (7, True)]
    assert talk.end() == []
