"""Clients that do not read their responses: the server closes their connections, also over TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from nexus_mcp.server.http.certificate import tls_context
from nexus_mcp.server.http.handshake import Handshakes
from nexus_mcp.server.http.limits import Limits
from nexus_mcp.server.http.protocol import Protocol, protocol_with
from nexus_mcp.server.http.unread import Unread
from tests.server.http.certificates import certificate

if TYPE_CHECKING:
    from pathlib import Path

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = 8 << 20
PATIENCE = 60
LIMITS = replace(Limits(), write_s=30.0)


class Slow:
    """A connection whose client has left `unread` bytes unread."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.is_dropped = self.is_left = False

    def drop(self) -> None:
        self.is_dropped = True
        self.unread = 0


class Checked:
    """Checks of these connections at times that the test chooses."""

    def __init__(self, *connections: Slow, limit: int = 1 << 30) -> None:
        self.now = 0.0
        self.connections = connections
        limits = replace(LIMITS, unread=limit)
        self._unread = Unread(limits, cast("tuple[Protocol, ...]", connections), lambda: self.now)

    def at(self, now: float) -> list[bool]:
        """Return which connections are dropped after a check at this time."""
        self.now = now
        self._unread.check()
        return [one.is_dropped for one in self.connections]


def test_client_that_does_not_read_is_dropped_at_the_deadline() -> None:
    """The deadline begins when the buffer is full, and ends when the client has read it."""
    slow, quick = Slow(100_000), Slow(100_000)
    checked = Checked(slow, quick)
    assert checked.at(0.0) == [False, False]
    quick.unread = 0
    checked.at(20.0)
    quick.unread = 100_000
    assert checked.at(30.0) == [True, False]
    assert checked.at(59.0) == [True, False]
    assert checked.at(60.0) == [True, True]


def test_small_rest_has_no_deadline() -> None:
    """An idle stream of a client that sleeps costs little, so it stays."""
    checked = Checked(Slow(60_000))
    assert checked.at(0.0) == checked.at(1000.0) == [False]


def test_client_that_has_waited_longest_makes_room() -> None:
    """Beyond the limit of memory, connections are dropped until the rest fits; the newest stays."""
    first, second = Slow(100_000), Slow(200_000)
    checked = Checked(first, second, limit=300_000)
    second.unread, first.unread = 0, 100_000
    checked.at(0.0)
    second.unread = 200_000
    assert checked.at(1.0) == [False, False]
    second.unread = 250_000
    assert checked.at(2.0) == [True, False]


def test_client_that_does_not_end_tls_is_dropped() -> None:
    """An idle client reads nothing, so it delayed the end of the server by 20 s. It has a second to end TLS."""
    left, open_ = Slow(0), Slow(0)
    checked = Checked(left, open_)
    left.is_left = True
    assert checked.at(0.0) == [False, False]
    assert checked.at(1.0) == [True, False]


async def answer(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer with eight megabytes."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LARGE)]})
    await send({"type": "http.response.body", "body": bytes(LARGE)})


@pytest.mark.parametrize("is_pipelined", [True, False])
@pytest.mark.parametrize("is_tls", [True, False])
def test_unread_response_is_found_and_dropped(tmp_path: Path, *, is_tls: bool, is_pipelined: bool) -> None:
    """Over TLS, too, where asyncio's transport takes the whole response at once and reports nothing. A second request
    is not carried out: its response would wait behind the first one, uncounted.
    """
    files = certificate(tmp_path, "nexus", 30, "localhost")
    state = ServerState()
    config = uvicorn.Config(answer, log_config=None, ws="none")
    config.load()
    now = 0.0

    async def run() -> None:
        nonlocal now
        loop = asyncio.get_running_loop()
        protocol = protocol_with(LIMITS)
        make: Any = Handshakes(tls_context(*files, []), protocol) if is_tls else protocol
        listening = await loop.create_server(
            lambda: make(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        unread = Unread(LIMITS, cast("set[Protocol]", state.connections), lambda: now)
        with socket.socket() as plain:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.setblocking(False)
            await loop.sock_connect(plain, listening.sockets[0].getsockname())
            client = ssl.create_default_context(cafile=files[0]) if is_tls else None
            reader, writer = await asyncio.open_connection(
                sock=plain, ssl=client, server_hostname="localhost" if is_tls else None, limit=4096
            )
            writer.write(GET * 2 if is_pipelined else GET)
            await reader.readuntil(b"\r\n")
            while not any(cast("Protocol", one).unread > LARGE // 2 for one in state.connections):
                await asyncio.sleep(0)
            writer.write(GET)
            while not any(cast("Protocol", one).transport.is_closing() for one in state.connections):
                await asyncio.sleep(0)
            assert state.total_requests == 1
            assert not any(cast("Protocol", one).is_left for one in state.connections)
            unread.check()
            assert state.connections
            now = LIMITS.write_s
            unread.check()
            while state.connections:
                await asyncio.sleep(0)
            writer.transport.abort()
        listening.close()

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await run()

    asyncio.run(bounded())
