"""Bodies of requests: their size, their values, their time, and what a malformed one gets."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from starlette.datastructures import Headers

from nexus_mcp.server.http import body, guard, hooks
from nexus_mcp.server.http.limits import Limits, Room
from tests.server.http.serving import Client, headers_of
from tests.server.http.test_guard import run
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

Json = Any


def test_body_beyond_the_limit_is_refused_declared_or_not(tmp_path: Path) -> None:
    """4 MiB are accepted, one byte more is refused with 413, with a declared length and without."""
    most = Limits().body

    async def work(client: Client) -> None:
        message = modern(1, "tools/call", name="task_list", arguments={})
        fits = modern(1, "tools/call", name="artifact_write", arguments={"filename": "a", "content": ""})
        size = len(str(fits))
        fits["params"]["arguments"]["content"] = "x" * (most - size - 200)
        assert (await client.modern(fits)).status == 200
        for more in ({}, {"content_length": str(most + 1)}, {"content_length": "9" * 400}, {"content_length": "x"}):
            reply = await client.request("POST", "/mcp", b" " * (most + 1), **headers_of(message), **more)
            assert reply.status == 413
        assert client.app._room.free_bytes == client.service.limits.bodies

    run(tmp_path, work)


def test_no_token_gets_all_the_room_for_bodies() -> None:
    """A token gets at most half of the room, and released bytes can be taken again."""
    room = Room(100)
    assert (room.take("a", 50), room.take("a", 1), room.take("b", 50), room.take("c", 1)) == (True, False, True, False)
    room.give_back("a", 50)
    assert (room.free_bytes, room.take("c", 50)) == (50, True)


@pytest.mark.parametrize(("path", "name"), [("/mcp", "parse"), ("/hook", "_Event")])
def test_large_body_is_parsed_beside_other_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str
) -> None:
    """4 MiB of small objects take seconds: a thread parses a large body, and a small one costs no thread."""
    module = guard if path == "/mcp" else hooks
    real, threads = getattr(module, name), []

    def noting(*parsed: Any) -> Any:
        threads.append(threading.current_thread())
        return real(*parsed)

    async def work(client: Client) -> None:
        for length in (1, 1 << 17):
            await client.request("POST", path, b"[" + b" " * length + b"]")
        assert [thread is threading.main_thread() for thread in threads] == [True, False]

    monkeypatch.setattr(module, name, noting)
    run(tmp_path, work)


def test_message_with_too_many_values_is_refused(tmp_path: Path) -> None:
    """The SDK parses each body in the event loop: beyond 200 000 structural characters it would hold up all requests.
    Those in texts do not count.
    """

    async def work(client: Client) -> None:
        most = body.MOST_MARKS
        values = modern(1, "tools/call", name="task_list", arguments={"many": [0] * (most + 1)})
        text = {"filename": "table.csv", "content": '1,"a\\\\",:[{' * (most // 4)}
        kept = modern(2, "tools/call", name="artifact_write", arguments=text)
        reply = await client.modern(values)
        assert reply.status == 400
        assert "more than 200000 opening brackets" in reply.message["error"]["message"]
        assert (await client.modern(kept)).message["result"]["isError"] is False

    run(tmp_path, work)


@pytest.mark.parametrize("value", [b"[", b"{", b",", b":", b'"[",', b'"\\\\",', b'"\\",",:'])
def test_structural_characters_of_texts_are_not_counted(value: bytes) -> None:
    """A table in a text has many commas, and needs no more memory than its bytes."""
    assert body._count_marks(value + b'"' + b":," * body.MOST_MARKS + b'"') in (1, 2)
    assert body._count_marks(b"," * (body.MOST_MARKS + 5)) == body.MOST_MARKS + 1


def test_many_values_take_room() -> None:
    """Parsed values take many times the memory of their text: a token gets room for a few such bodies at once."""
    values = b"[" + b"{}," * 50_000 + b"0]"

    async def receive() -> Json:
        return {"type": "http.request", "body": values}

    async def work() -> None:
        room = Room(Limits().bodies)
        bodies = [body.Body(Limits(), room, "a") for _ in range(20)]
        replies = await asyncio.gather(*(one.read(Headers(), receive) for one in bodies), return_exceptions=True)
        assert 3 < replies.count(True) < 10
        assert {str(reply) for reply in replies if reply is not True} == {"503 Too many requests arrive at once."}
        for one in bodies:
            one.release()
        assert room.free_bytes == Limits().bodies

    asyncio.run(work())


def test_large_bodies_are_parsed_one_after_the_other() -> None:
    """All other requests would wait for each of several parsing threads."""
    started, may_end = [], threading.Event()

    def parse(data: bytes) -> None:
        started.append(data)
        may_end.wait()

    async def work() -> None:
        parsing = [asyncio.ensure_future(body.parse_body(parse, bytes(1 << 17))) for _ in range(5)]
        while not started:
            await asyncio.sleep(0)
        small = await body.parse_body(len, b"[]")
        assert (len(started), small) == (1, 2)
        may_end.set()
        await asyncio.gather(*parsing)
        assert len(started) == 5

    asyncio.run(work())


def test_two_kinds_of_length_are_refused(tmp_path: Path) -> None:
    """A request with Content-Length and Transfer-Encoding is refused: it could smuggle a request through a proxy."""

    async def work(client: Client) -> None:
        reply = await client.request("POST", "/mcp", b"{}", content_length="2", transfer_encoding="chunked")
        assert (reply.status, reply.headers["connection"]) == (400, "close")

    run(tmp_path, work)


def test_slow_body_is_refused(tmp_path: Path) -> None:
    """A body that does not arrive in time is answered with 408."""

    async def work(client: Client) -> None:
        sent: list[Json] = []

        async def receive() -> Json:
            await asyncio.Event().wait()

        async def send(message: Json) -> None:
            sent.append(message)

        scope: Json = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(b"host", b"127.0.0.1:8750"), (b"authorization", f"Bearer {client.token}".encode())],
        }
        await client.app(scope, receive, send)
        assert sent[0]["status"] == 408

    run(tmp_path, work, limits=replace(Limits(), body_s=0.01))


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", -32700), (b" \n", -32700), (b"{", -32700), (b'{"a":NaN}', -32700), (b"\xff{}", -32700), (b"[]", -32600),
     (b"1", -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32602),
     (b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', -32600),
     (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b'{"a":' * 70 + b"1" + b"}" * 71, -32600)],
)  # fmt: skip
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_malformed_body_is_answered_as_on_stdio(tmp_path: Path, body: bytes, code: int, era: str) -> None:
    """Such bodies get status 400 and the JSON-RPC error of stdio, before the SDK reads them; no session is opened."""

    async def work(client: Client) -> None:
        more = {"mcp_protocol_version": "2026-07-28"} if era == "modern" else {}
        reply = await client.request("POST", "/mcp", body, content_type="application/json", **more)
        assert (reply.status, reply.message["error"]["code"]) == (400, code)
        assert not client.service.callers.sessions

    run(tmp_path, work)
