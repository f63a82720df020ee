"""Do TLS handshakes with a deadline of our own, and count them with the connections.

asyncio would give each handshake a minute, and uvicorn counts a connection only after its handshake. So a client that
opens connections and sends nothing could take all descriptors of the process.
"""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    from nexus_mcp.server.http.protocol import Protocol

_BUFFER = 1 << 16
"""Bytes of the buffer of a TLS connection. asyncio's default of 256 KiB would take 500 MiB for 2000 connections."""


class Handshakes:
    """Makes the protocol of each connection, as uvicorn's `http_protocol_class`, and first does the TLS handshake."""

    def __init__(self, context: ssl.SSLContext, protocol: type[Protocol]) -> None:
        self._context = context
        self._protocol = protocol
        self._open: set[asyncio.Task[None]] = set()
        sslproto.SSLProtocol.max_size = _BUFFER

    @property
    def count(self) -> int:
        """Return the number of open handshakes."""
        return len(self._open)

    def __call__(self, **parts: Any) -> asyncio.Protocol:
        """Return the protocol of a connection whose handshake has not begun. `parts` are uvicorn's arguments."""
        return _AcceptedConnection(self, self._protocol(**parts))

    def begin(self, transport: asyncio.Transport, protocol: Protocol) -> None:
        """Begin the handshake of a connection. Drop a connection beyond the limit: without TLS it gets no response."""
        if len(self._open) + len(protocol.connections) >= protocol.limits.connections:
            protocol.note_refused()
            transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._secure(transport, protocol))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    def end(self) -> None:
        """Drop the connections whose handshakes are open."""
        for task in self._open:
            task.cancel()

    async def _secure(self, transport: asyncio.Transport, protocol: Protocol) -> None:
        early = _Early()
        try:
            secured = await asyncio.get_running_loop().start_tls(
                transport, early, self._context, server_side=True, ssl_handshake_timeout=protocol.limits.head_s
            )
        except OSError as error:  # no TLS, too slow, or gone; ssl.SSLError is an OSError
            error.__traceback__ = None  # its frames keep the error and the buffer of the connection
            transport.abort()
            return
        except asyncio.CancelledError:
            transport.abort()
            raise
        assert secured is not None
        protocol.below = transport
        secured.set_protocol(protocol)
        protocol.connection_made(secured)
        early.pass_on(protocol)


class _AcceptedConnection(asyncio.Protocol):
    """The protocol of a connection until its handshake begins."""

    def __init__(self, handshakes: Handshakes, protocol: Protocol) -> None:
        self._handshakes = handshakes
        self._protocol = protocol

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the handshake. Until then nothing is read: the data would get lost."""
        transport.pause_reading()
        self._handshakes.begin(transport, self._protocol)


class _Early(asyncio.Protocol):
    """Keeps what arrives between the end of the handshake and the next turn of the event loop, and passes it on."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._has_ended = False
        self._lost: list[Exception | None] = []
        self._protocol: Protocol | None = None

    def data_received(self, data: bytes) -> None:
        """Keep data of the client."""
        self._data.append(data)

    def eof_received(self) -> None:
        """Keep the end of the client's data."""
        self._has_ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Keep the end of the connection. After `pass_on`, pass it on: the call may have been scheduled before."""
        if self._protocol is not None:
            self._protocol.connection_lost(exc)
        else:
            self._lost.append(exc)

    def pass_on(self, protocol: Protocol) -> None:
        """Give everything to the protocol, in the order of arrival."""
        self._protocol = protocol
        for data in self._data:
            protocol.data_received(data)
        if self._has_ended:
            protocol.eof_received()
        for exc in self._lost:
            protocol.connection_lost(exc)
