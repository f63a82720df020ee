"""Calls run one after another in arrival order, while the server continues to read."""

from __future__ import annotations

import select
from collections.abc import Iterator

import pytest

from nexus_mcp.server import messages, stdio
from nexus_mcp.server.call_queue import MAX_BYTES, MAX_WAITING, correlation_key
from nexus_mcp.server.messages import Message
from nexus_mcp.server.pipes import MAX_LINE
from nexus_mcp.server.sdk import serve_sdk
from nexus_mcp.server.stdio import serve
from tests.wire.connection import Json, Serve, Talk, call, error, exchange, initialize, modern, notification, request
from tests.wire.fake_tools import FakeApp

PING = {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.fixture
def fake() -> FakeApp:
    return FakeApp()


@pytest.fixture(params=["stdio", "stdio-constant", "sdk"])
def talk(request: pytest.FixtureRequest, fake: FakeApp, monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    """A legacy connection after its handshake. `constant`: as where a thread has to read all the time."""
    if request.param == "stdio-constant":
        monkeypatch.delattr(select, "epoll")
    talk = Talk(fake.as_app(), serve_sdk if request.param == "sdk" else serve)
    talk.ask(initialize())
    yield talk
    for _ in range(8):
        fake.release()
    talk.close()


def ids(messages: list[Json]) -> list[Json]:
    return [message["id"] for message in messages]


def hold(talk: Talk, fake: FakeApp, id: Json = "h") -> None:
    talk.send(call(id, "hold"))
    assert fake.began.acquire(timeout=60)


def cancel(id: Json) -> Json:
    return notification("notifications/cancelled", {"requestId": id, "reason": "test"})


def test_calls_run_in_order_of_arrival(talk: Talk, fake: FakeApp) -> None:
    """Calls are run and answered in the order in which they arrived."""
    talk.send(*(call(number, "echo", n=number) for number in range(50)))
    assert ids(talk.end()) == list(range(50))
    assert fake.events == [event for n in range(50) for event in (f"run echo {n}", f"delivered echo {n}")]


def test_ping_is_answered_while_a_call_runs(talk: Talk, fake: FakeApp) -> None:
    """While a call runs, ping, tools/list and errors are answered at once."""
    hold(talk, fake)
    assert talk.ask(request("p", "ping")) == PING
    assert talk.ask(request("l", "tools/list"))["id"] == "l"
    assert talk.ask(b"nonsense\n") == error(None, -32700, "Parse error: the line is not JSON (character 1)")
    assert talk.ask(request("x", "x")) == error("x", -32601, "Method not found", data="x")
    fake.release()
    assert ids(talk.end()) == ["h"]


def test_queue_of_64_calls_pauses_reading(talk: Talk, fake: FakeApp) -> None:
    """With 63 calls waiting a ping is answered; with 64 reading pauses until one of them has begun."""
    hold(talk, fake)
    assert MAX_WAITING == 64
    talk.send(*(call(number, "echo", n=number) for number in range(63)))
    assert talk.ask(request("p", "ping")) == PING
    talk.send(
        call(63, "echo", n=63), request("q", "ping"), *(call(number, "echo", n=number) for number in range(64, 70))
    )
    fake.release()
    left = ids(talk.end())
    assert [id for id in left if id != "q"] == ["h", *range(70)]
    assert left.index("q") > 0, "the ping was read while 64 calls were waiting"


def test_long_line_waits_for_room(fake: FakeApp) -> None:
    """Beside the largest call there is room for small ones; a long line waits until that call is done."""
    talk = Talk(fake.as_app(), serve)
    talk.ask(initialize())
    hold(talk, fake)
    talk.send(call(1, "echo", text="x" * (MAX_LINE - 200)))
    assert talk.ask(request("p", "ping")) == PING
    talk.send(call(2, "echo", text="x" * (MAX_BYTES - MAX_LINE)), request("q", "ping"), call(3, "echo", text="x"))
    fake.release()
    left = ids(talk.end())
    assert [id for id in left if id != "q"] == ["h", 1, 2, 3]
    assert left.index("q") > left.index(1), "a long line was looked at while there was no room for it"


def test_finished_calls_free_their_room(fake: FakeApp) -> None:
    """Calls that are done or cancelled take no room: any number of long ones can follow each other."""
    talk = Talk(fake.as_app(), serve)
    talk.ask(initialize())
    hold(talk, fake)
    talk.send(call(1, "echo", text="x" * (MAX_LINE - 200)), cancel(1), call(2, "echo", text="x" * (MAX_LINE - 200)))
    assert talk.ask(request("p", "ping")) == PING
    fake.release()
    assert ids([talk.receive(), talk.receive()]) == ["h", 2]
    # One after the other: who sends on without reading ends up waiting for a server that waits for him.
    text = "x" * (MAX_LINE // 2)
    assert [talk.ask(call(number, "echo", text=text))["id"] for number in range(3, 9)] == [*range(3, 9)]
    assert talk.end() == []


def test_cancelled_waiting_call_is_not_run(talk: Talk, fake: FakeApp) -> None:
    """A cancelled waiting call is not run and gets no response; the others are unaffected."""
    hold(talk, fake)
    talk.send(call(1, "echo", n=1), call(2, "echo", n=2), cancel(1))
    assert talk.ask(request("p", "ping")) == PING
    fake.release()
    assert ids(talk.end()) == ["h", 2]
    assert fake.events == ["run hold", "delivered hold", "run echo 2", "delivered echo 2"]


def test_cancelled_running_call_is_not_answered(talk: Talk, fake: FakeApp) -> None:
    """A running call that is cancelled finishes without a response, and its tool is notified."""
    hold(talk, fake)
    talk.send(cancel("h"), call(2, "echo", n=2))
    assert talk.ask(request("p", "ping")) == PING
    fake.release()
    assert ids(talk.end()) == [2]
    assert fake.events == ["run hold", "undelivered hold", "run echo 2", "delivered echo 2"]


@pytest.mark.parametrize(
    "params", [None, {}, {"requestId": None}, {"requestId": True}, {"requestId": [1]}, {"requestId": 9}]
)
def test_cancellation_of_unknown_id_is_ignored(talk: Talk, fake: FakeApp, params: Json) -> None:
    """A cancellation of nothing known is ignored, `true` does not mean 1."""
    hold(talk, fake, 1)
    talk.send(notification("notifications/cancelled", params), cancel("x"))
    assert talk.ask(request("p", "ping")) == PING
    fake.release()
    assert ids(talk.end()) == [1]


def test_late_cancellation_changes_nothing(talk: Talk, fake: FakeApp) -> None:
    """A late cancellation has no effect, not even on a later request with that id."""
    assert talk.ask(call(1, "echo"))["id"] == 1
    assert talk.ask(request("p", "ping")) == PING  # the SDK forgets a request a moment after its answer is out
    talk.send(cancel(1), call(1, "echo"))
    assert ids(talk.end()) == [1]
    assert fake.events == ["run echo", "delivered echo"] * 2


def test_line_that_triggers_a_bug_is_answered(fake: FakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that triggers a defect of the server gets an internal error, and later lines are served."""

    def parse(line: bytes) -> Message | None:
        if line == b"defect":
            raise RecursionError
        return messages.parse(line)

    monkeypatch.setattr(stdio, "parse", parse)
    answers = exchange(fake.as_app(), [b"defect\n", request("p", "ping")], serve)
    assert answers == [error(None, -32603, "Internal server error"), PING]


def test_same_id_twice_is_answered_twice(talk: Talk, fake: FakeApp) -> None:
    """Two requests in flight with one id are both run and both answered."""
    hold(talk, fake)
    talk.send(call(1, "echo", n=1), call(1, "echo", n=2))
    fake.release()
    answers = talk.end()
    assert [(answer["id"], answer["result"]["structuredContent"]) for answer in answers[1:]] == [
        (1, {"n": 1}),
        (1, {"n": 2}),
    ]


def test_cancellation_of_a_repeated_id_means_the_later_call(talk: Talk, fake: FakeApp) -> None:
    """Of two requests in flight with one id, a cancellation means the later; "7" and 7 are one id."""
    hold(talk, fake)
    talk.send(call(7, "echo", n=1), call("7", "echo", n=2), cancel(7))
    assert talk.ask(request("p", "ping")) == PING
    fake.release()
    assert ids(talk.end()) == ["h", 7]
    assert fake.events[2:] == ["run echo 1", "delivered echo 1"]


@pytest.mark.parametrize(
    ("id", "key"), [(7, 7), ("7", 7), (" 7", 7), ("x", "x"), ("", ""), ("1.0", "1.0"), ("9" * 5000, "9" * 5000), (0, 0)]
)
def test_ids_compare_as_in_the_sdk(id: Json, key: Json) -> None:
    """Ids are compared as the official SDK compares them."""
    from mcp.shared.dispatcher import coerce_request_id

    assert correlation_key(id) == coerce_request_id(id) == key


def test_unexpected_failure_is_an_internal_error(talk: Talk, fake: FakeApp) -> None:
    """A call that fails unexpectedly gets an internal error without details, and the next one runs."""
    assert talk.ask(call(1, "raise")) == error(1, -32603, "Internal server error")
    assert talk.ask(call(2, "echo"))["id"] == 2


@pytest.mark.requirement("protocol.params")
def test_unknown_tool_is_invalid_params(talk: Talk) -> None:
    """A tool that does not exist is a fault of the params."""
    assert talk.ask(call(1, "explode")) == error(1, -32602, "Unknown tool: explode")


def test_client_name_reaches_the_tool(talk: Talk, fake: FakeApp) -> None:
    """The name from the handshake reaches the tool."""
    talk.ask(call(1, "echo"))
    assert fake.clients == ["test-client"]


@pytest.mark.parametrize("server", [serve, serve_sdk], ids=["stdio", "sdk"])
def test_modern_client_name_comes_from_each_request(fake: FakeApp, server: Serve) -> None:
    """On a modern connection the client's name comes from each request, and may be absent."""
    talk = Talk(fake.as_app(), server)
    named = modern(1, "tools/call", name="echo")
    named["params"]["_meta"] = {
        **named["params"]["_meta"],
        "io.modelcontextprotocol/clientInfo": {"name": "modern-client", "version": "1"},
    }
    talk.ask(named)
    talk.ask(modern(2, "tools/call", name="echo"))
    talk.end()
    assert fake.clients == ["modern-client", ""]


def test_text_that_clients_cannot_read_is_replaced(talk: Talk, fake: FakeApp) -> None:
    """Text that is no Unicode, or that ends a line for some readers, leaves as text every client can read."""
    method = "\ud800 a\u2028b\u0085c\ud83d\ude00"
    sent = request(1, method)
    assert talk.ask(sent) == error(1, -32601, "Method not found", data="\ufffd a\u2028b\u0085c😀")


def test_line_of_20_mb_is_refused_with_its_id(talk: Talk) -> None:
    """A line of 20 MB is refused with its id, and the connection continues."""
    long = request(1, "tools/call", {"name": "echo", "arguments": {"text": "x" * 20_000_000}})
    refused = error(1, -32600, "Invalid Request: a message takes at most 4194304 bytes; send less at once")
    assert talk.ask(long) == refused
    assert talk.ask(request("p", "ping")) == PING
