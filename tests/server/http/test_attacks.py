"""Attacks on a server: request smuggling, one token that wants everything, slow clients, secrets in the log.

The suite `http` of tests/reliability does the same with large numbers.
"""

from __future__ import annotations

import asyncio
import http.client
import signal
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from nexus_mcp.server.http.limits import Limits, share
from tests.cli.support import LIMIT
from tests.reliability.suites.http.attack_requests import request, smuggling
from tests.reliability.suites.http.server import HOST
from tests.server.http.serving import Client, headers_of, make_token
from tests.server.http.test_guard import run
from tests.server.http.test_process import Server
from tests.wire.connection import META, initialize, modern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = Any


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("project"), "--allow-host", HOST)
    yield made
    _, err = made.end(signal.SIGTERM)
    assert made.process.returncode == 0
    assert made.token not in err
    assert "Traceback" not in err


def status_of(server: Server, data: bytes) -> int:
    """Return the status of the answer to these bytes, 0 if the server only closed the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as connection:
        connection.sendall(data)
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
        except (http.client.BadStatusLine, ConnectionError):
            return 0
        return answer.status


def is_alive(server: Server) -> bool:
    return server.ask(modern(1, "tools/list"))[0] == 200


@pytest.mark.parametrize("what", smuggling("token"))
def test_request_smuggling_is_refused(server: Server, what: str) -> None:
    """A request whose end two programs could see in different places gets a status of 400 to 499, and no result."""
    data = smuggling(server.token)[what].replace(b"/p/p0/mcp", b"/mcp")
    assert 400 <= status_of(server, data) < 500
    assert is_alive(server)


def test_right_request_of_the_generator_is_answered(server: Server) -> None:
    """The shape that the malformed requests are made from is a right one: refusals are for their faults."""
    assert status_of(server, request(server.token, path="/mcp")) == 200


def test_token_gets_half_of_the_open_requests(tmp_path: Path) -> None:
    """Beyond its share a token gets 429 with Retry-After; another token is answered, and so is the first one later."""
    token = make_token(tmp_path, "other")

    async def work(client: Client) -> None:
        listen = modern(1, "subscriptions/listen", notifications={"promptsListChanged": True})
        streams = [client.begin("POST", "/mcp", listen, **headers_of(listen)) for _ in range(5)]
        for stream in streams:
            await stream.until(lambda reply: bool(reply.messages))
        reply = await client.modern(modern(2, "tools/list"))
        assert (reply.status, reply.headers["retry-after"]) == (429, "1")
        assert (await client.modern(modern(2, "tools/list"), token=token)).status == 200
        await streams[0].leave()
        assert (await client.modern(modern(2, "tools/list"))).status == 200

    run(tmp_path, work, limits=replace(Limits(), requests=10))


def test_token_gets_half_of_the_sessions(tmp_path: Path) -> None:
    """Beyond its share a token opens no session; another token does."""
    token = make_token(tmp_path, "other")

    async def work(client: Client) -> None:
        found = [(await client.request("POST", "/mcp", initialize())).status for _ in range(3)]
        assert found == [200, 200, 503]
        assert (await client.request("POST", "/mcp", initialize(), token=token)).status == 200

    run(tmp_path, work, limits=replace(Limits(), sessions=4))


def test_share_of_one_is_one() -> None:
    """The share in a limit of one is one, so that the limit can be used."""
    assert [share(number) for number in (1, 2, 3, 1500)] == [1, 1, 1, 750]


def test_slow_body_holds_up_no_other_client(tmp_path: Path) -> None:
    """While bodies of two tokens do not arrive, a third token is answered; the slow ones get 408."""
    texts = [make_token(tmp_path, name) for name in ("a", "b", "c")]

    async def work(client: Client) -> None:
        sent: list[Json] = []

        async def never() -> Json:
            await asyncio.Event().wait()

        async def send(message: Json) -> None:
            sent.append(message)

        def slow(token: str) -> asyncio.Task[None]:
            headers = [(b"host", b"127.0.0.1:8750"), (b"authorization", f"Bearer {token}".encode())]
            scope: Json = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
            return asyncio.ensure_future(client.app(scope, never, send))

        tasks = [slow(token) for token in texts[:2] for _ in range(20)]
        assert (await client.modern(modern(1, "tools/list"), token=texts[2])).status == 200
        await asyncio.gather(*tasks)
        assert [message["status"] for message in sent if "status" in message] == [408] * 40

    run(tmp_path, work, limits=replace(Limits(), body_s=1.0))


def test_no_token_is_ever_in_the_log(tmp_path: Path) -> None:
    """A token in any part of a request, right or malformed, is not logged at any level."""
    folder = tmp_path / "project"
    folder.mkdir()
    server = Server(folder, "--allow-host", HOST)
    token = server.token
    right = {"title": "T", "context": "C"}
    tool: dict[str, Any] = {"name": "task_add", "arguments": right}
    for message in (
        modern(1, "tools/call", **{**tool, "arguments": {**right, token: 1}}),
        modern(1, "tools/call", **{**tool, "arguments": {"title": token, "context": [token]}}),
        modern(1, "tools/call", **{**tool, "arguments": {"status": token, "id": token}}),
        modern(1, "tools/call", name="plan_update", arguments={"action": token}),
        modern(1, "tools/call", name="artifact_write", arguments={"filename": f"../{token}", "content": token}),
        modern(1, "tools/call", **tool, _meta={**META, "nexus-mcp/idempotencyKey": token * 9}),
        modern(1, "tools/call", name=token, arguments={token: token}),
        modern(token, token),
        modern(1, "resources/read", uri=f"nexus://{token}"),
        modern(1, "prompts/get", name=token, arguments={token: token}),
        initialize(version=token),
    ):
        server.ask(message, **{"Mcp-Session-Id": token, "X-Token": token, "Origin": f"http://127.0.0.1:{server.port}"})
        server.ask(message)
    asked = f"Host: {HOST}\r\nAuthorization: Bearer {token}\r\n"
    quoted_token = quote(token, safe="").replace("-", "%2D")
    for text in (
        f"GET /healthz?token={token} HTTP/1.1\r\n{asked}\r\n",
        f"GET /mcp?{token} HTTP/1.1\r\n{asked}Last-Event-Id: {token}\r\n\r\n",
        f"GET /p/{token}/mcp HTTP/1.1\r\n{asked}\r\n",
        f"GET /{quoted_token} HTTP/1.1\r\n{asked}\r\n",
        f"GET /p/{token}/hook HTTP/1.1\r\n{asked}\r\n",
        f"{token} /mcp HTTP/1.1\r\n{asked}\r\n",
        f"GET /mcp HTTP/1.1\r\nHost: {token}\r\n\r\n",
        f"GET /mcp HTTP/1.1\r\n{asked}Origin: http://{token}\r\n\r\n",
        f"GET /mcp HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Basic {token}\r\n\r\n",
        f"GET /mcp HTTP/1.1\r\n{asked}Cookie: t={token}\r\nX-Forwarded-For: {token}\r\n{token}\r\n\r\n",
        f"POST /mcp HTTP/1.1\r\n{asked}Content-Length: 2\r\n{token}: {token}\r\n\r\n{{}}",
        f"POST /mcp HTTP/1.1\r\n{asked}Content-Length: {len(token)}\r\n\r\n{token}",
        f"POST /mcp HTTP/1.1\r\n{asked}Transfer-Encoding: chunked\r\n\r\n{token}\r\n",
        f"{token}\r\n\r\n",
    ):
        status_of(server, text.encode())
    assert is_alive(server)
    _, err = server.end(signal.SIGTERM)
    assert err
    assert token not in err
    assert token.removeprefix("nexus_") not in err
