"""TLS handshakes: they have a deadline, count as connections, and end with the server."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import struct
from asyncio import sslproto
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from prometheus_client import generate_latest
from uvicorn.server import ServerState

from nexus_mcp.server.http.certificate import tls_context
from nexus_mcp.server.http.handshake import Handshakes
from nexus_mcp.server.http.limits import Limits
from nexus_mcp.server.http.metrics.counters import ServerMetrics
from nexus_mcp.server.http.protocol import protocol_with
from tests.server.http.certificates import certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 60


async def answer(scope: Any, _receive: Any, send: Any) -> None:
    """Answer with the scheme of the request."""
    body = scope["scheme"].encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Serving:
    """A server of one test, and how clients reach it."""

    def __init__(self, files: tuple[str, str], limits: Limits) -> None:
        self.metrics = ServerMetrics()
        protocol = protocol_with(limits, self.metrics)
        self.handshakes = Handshakes(tls_context(*files, []), protocol)
        self.client = ssl.create_default_context(cafile=files[0])
        self.port = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.connections: set[Any] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen within the block."""
        config = uvicorn.Config(answer, log_config=None, ws="none")
        config.load()
        state = ServerState()
        self.connections = state.connections
        server = await asyncio.get_running_loop().create_server(
            lambda: self.handshakes(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.handshakes.end()
            for writer in self.writers:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
            while state.connections or self.handshakes.count:
                await asyncio.sleep(0)

    async def silent(self) -> asyncio.StreamReader:
        """Connect and send nothing. Return what the server sends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader

    async def ask(self, data: bytes = GET) -> bytes:
        """Return the response to a request over TLS, b"" if the server drops the connection."""
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self.port, ssl=self.client, server_hostname="localhost"
            )
            self.writers.append(writer)
            writer.write(data)
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            return head + await reader.readexactly(size)
        return b""


async def is_dropped(reader: asyncio.StreamReader) -> bool:
    """Wait until the server ends a connection without a byte."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


def run(test: Any) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await test()

    asyncio.run(bounded())


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return certificate(tmp_path, "nexus", 30, "localhost")


def test_request_after_the_handshake_is_answered(files: tuple[str, str]) -> None:
    """The request is known as https, and several connections are open at once."""
    serving = Serving(files, Limits())

    async def test() -> None:
        async with serving.listening():
            for response in await asyncio.gather(*(serving.ask() for _ in range(5))):
                assert response.startswith(b"HTTP/1.1 200 ")
                assert response.endswith(b"https")

    run(test)


def test_silent_client_is_dropped_at_the_deadline(files: tuple[str, str]) -> None:
    """A client that begins no handshake, or sends half of one, holds its connection no longer than a slow head."""
    serving = Serving(files, replace(Limits(), head_s=0.02))

    async def test() -> None:
        async with serving.listening():
            assert await is_dropped(await serving.silent())
            half = await serving.silent()
            serving.writers[-1].write(b"\x16\x03\x01\x02\x00\x01")
            assert await is_dropped(half)

    run(test)


def test_open_handshakes_count_as_connections(files: tuple[str, str]) -> None:
    """Beyond the limit a connection is dropped, and counted; when a handshake has ended, there is room again."""
    serving = Serving(files, replace(Limits(), connections=2))

    async def test() -> None:
        async with serving.listening():
            first, second = await serving.silent(), await serving.silent()
            assert await is_dropped(await serving.silent())
            assert 'nexus_refusals_total{code="503"' in generate_latest(serving.metrics.registry).decode()
            for writer in serving.writers:
                writer.close()
            await asyncio.gather(is_dropped(first), is_dropped(second))
            while not (response := await serving.ask()):
                pass
            assert response.startswith(b"HTTP/1.1 200 ")

    run(test)


def test_end_of_the_server_drops_open_handshakes(files: tuple[str, str]) -> None:
    """A client that never completes its handshake does not delay the end."""
    serving = Serving(files, Limits())

    async def test() -> None:
        async with serving.listening():
            reader = await serving.silent()
            while not serving.handshakes.count:
                await asyncio.sleep(0)
            serving.handshakes.end()
            assert await is_dropped(reader)
            assert not serving.handshakes.count

    run(test)


def test_client_without_tls_is_dropped(files: tuple[str, str]) -> None:
    """A request in clear text gets no response in clear text."""
    serving = Serving(files, Limits())

    async def test() -> None:
        async with serving.listening():
            reader = await serving.silent()
            serving.writers[-1].write(GET)
            assert b"HTTP" not in await reader.read()
            assert (await serving.ask()).startswith(b"HTTP/1.1 200 ")

    run(test)


def buffers() -> int:
    """Return the number of buffers of TLS connections that the server has."""
    return sum(isinstance(one, sslproto.SSLProtocol) and one._server_side for one in gc.get_objects())


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Collect no garbage within the test: until a collection, lost connections would take 100 MiB."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_failed_handshake_leaves_no_buffer(files: tuple[str, str]) -> None:
    """The error of a handshake refers to its buffer, and its buffer to the error."""
    serving = Serving(files, replace(Limits(), head_s=0.02))

    async def test() -> None:
        async with serving.listening():
            await is_dropped(await serving.silent())
            clear = await serving.silent()
            serving.writers[-1].write(GET)
            await is_dropped(clear)
            while serving.handshakes.count:
                await asyncio.sleep(0)
            assert buffers() == 0

    run(test)


@pytest.mark.usefixtures("no_collection")
def test_connection_that_ends_with_an_error_leaves_no_buffer(files: tuple[str, str]) -> None:
    """The timer for idle connections kept a lost connection for 30 s: with 100 a second, gigabytes."""
    serving = Serving(files, Limits())

    async def test() -> None:
        async with serving.listening():
            for _ in range(3):
                assert (await serving.ask()).startswith(b"HTTP/1.1 200 ")
                writer = serving.writers.pop()
                reset = struct.pack("ii", 1, 0)  # closes with RST
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                writer.transport.abort()
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
            while serving.connections:
                await asyncio.sleep(0)
            assert buffers() == 0

    run(test)


def test_buffer_of_a_connection_is_small(files: tuple[str, str]) -> None:
    """Strangers may open 2000 connections."""
    serving = Serving(files, Limits())

    async def test() -> None:
        async with serving.listening():
            await serving.ask()
            found: list[Any] = [one for one in gc.get_objects() if isinstance(one, sslproto.SSLProtocol)]
            assert {len(one._ssl_buffer) for one in found if one._server_side} == {1 << 16}

    run(test)


def test_closed_connection_waits_for_the_end_of_tls(files: tuple[str, str]) -> None:
    """The server has sent everything, and the idle client has not noticed: unread.py ends the connection then."""
    serving = Serving(files, Limits())

    async def test() -> None:
        async with serving.listening():
            with socket.socket() as plain:
                plain.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_connect(plain, ("127.0.0.1", serving.port))
                coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
                client = serving.client.wrap_bio(coming, going, server_hostname="localhost")
                while True:
                    try:
                        client.do_handshake()
                        break
                    except ssl.SSLWantReadError:
                        await loop.sock_sendall(plain, going.read())
                        coming.write(await loop.sock_recv(plain, 1 << 16))
                await loop.sock_sendall(plain, going.read())
                while not serving.connections:
                    await asyncio.sleep(0)
                (made,) = serving.connections
                assert not made.is_left
                made.shutdown()
                assert made.is_left
                made.drop()
                while serving.connections:
                    await asyncio.sleep(0)

    run(test)
