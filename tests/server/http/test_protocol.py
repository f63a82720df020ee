"""Deadlines of a connection, with a transport that never waits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from nexus_mcp.server.http.limits import Limits
from nexus_mcp.server.http.protocol import Protocol, protocol_with

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Transport(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"socket": None, "sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)})
        self.written = b""
        self.is_closed = self.is_aborted = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


async def answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def connect(state: ServerState, limits: Limits) -> tuple[Protocol, Transport]:
    config = uvicorn.Config(answer, log_config=None, ws="none", timeout_keep_alive=60)
    made, transport = protocol_with(limits)(config, state, {}), Transport()
    made.connection_made(transport)
    return made, transport


async def until(is_done: Any) -> None:
    async with asyncio.timeout(60):
        while not is_done():
            await asyncio.sleep(0.001)


def test_head_that_does_not_arrive_is_refused() -> None:
    """Nothing, or a head byte by byte, ends with 408; a byte in between does not move the deadline."""

    async def run() -> None:
        for parts in ([], [b"GET / H", b"TTP/1.1\r\nHost"]):
            made, transport = connect(ServerState(), replace(Limits(), head_s=0.01))
            for part in parts:
                made.data_received(part)
            await until(lambda transport=transport: transport.is_closed)
            assert transport.written.startswith(b"HTTP/1.1 408 ")

    asyncio.run(run())


def test_answered_request_has_no_deadline_left() -> None:
    """After a whole request nothing but the idle time of the connection counts."""

    async def run() -> None:
        made, transport = connect(ServerState(), Limits())
        made.data_received(GET)
        await until(lambda: b"200 OK" in transport.written)
        assert made._timer is None
        made.data_received(b"GET /")
        assert made._timer is not None
        made.connection_lost(None)
        assert made._timer is None

    asyncio.run(run())


def test_rest_of_an_unread_body_has_a_deadline() -> None:
    """A request that was answered before its body came ends when the body does not."""

    async def run() -> None:
        made, transport = connect(ServerState(), replace(Limits(), body_s=0.01))
        made.data_received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        await until(lambda: transport.is_closed)
        assert transport.written.count(b"HTTP/1.1") == 2
        assert b"HTTP/1.1 408 " in transport.written

    asyncio.run(run())


def test_connection_goes_on_after_an_unread_body() -> None:
    """When the rest of an unread body arrives in time, only the idle time of the connection counts."""

    async def run() -> None:
        made, transport = connect(ServerState(), Limits())
        made.data_received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        await until(lambda: b"200 OK" in transport.written)
        assert made._timer is not None
        made.data_received(b"123456789")
        assert made._timer is None
        assert made.timeout_keep_alive_task is not None
        made.data_received(GET)
        await until(lambda: transport.written.count(b"200 OK") == 2)
        made.connection_lost(None)

    asyncio.run(run())


def test_connections_are_bounded() -> None:
    """A connection beyond the limit gets 503 and is closed; the others stay."""

    async def run() -> None:
        state = ServerState()
        _, first = connect(state, replace(Limits(), connections=1))
        _, second = connect(state, replace(Limits(), connections=1))
        assert (first.is_closed, second.is_closed) == (False, True)
        assert second.written.startswith(b"HTTP/1.1 503 ")

    asyncio.run(run())
