"""Speak HTTP/1.1 with deadlines for the head of a request, and for a body that the application does not read.

uvicorn has a deadline for the time between two requests only. unread.py has the deadline for a client that reads
slowly.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

from nexus_mcp.server.http.limits import Limits
from nexus_mcp.server.http.refusal import HEADERS

if TYPE_CHECKING:
    import asyncio

    from nexus_mcp.server.http.metrics.counters import ServerMetrics

FEW = 1 << 16
"""Bytes that a client may leave unread for any time. asyncio, too, counts a buffer as full only beyond this size."""
_ABORT_S = 5.0
"""Seconds that a client has to read a refusal before its connection is aborted."""


class Protocol(H11Protocol):
    """One connection. `limits` and `metrics` are set on a subclass, because uvicorn makes the instances.

    `below` is the transport below the transport of TLS, None without TLS.
    """

    limits = Limits()
    metrics: ServerMetrics | None = None
    _timer: asyncio.TimerHandle | None = None
    below: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline for the first head, or refuse a connection beyond the limit."""
        super().connection_made(transport)
        if self.metrics is not None:
            self.metrics.connections = self.connections  # the set that uvicorn keeps
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "Service Unavailable", "Too many connections are open.")
            return
        self._arm(self.limits.head_s)

    def data_received(self, data: bytes) -> None:
        """Read data, and keep the deadline of an incomplete head or body. Close a connection whose client sends more
        before it has read the last response.
        """
        if self.transport.is_closing():
            return
        if not self._is_answering() and self._has_slow_reader():
            self.transport.close()
            return
        if self._timer is None and not self._is_answering():
            self._arm(self.limits.head_s)
        was_unread = self._has_unread_body()
        super().data_received(data)
        if self._is_answering():
            self._disarm()
        elif was_unread and not self._has_unread_body() and not self.transport.is_closing():
            self._disarm()
            # uvicorn has dropped its own timer for idle connections.
            wait = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
            self.timeout_keep_alive_task = wait

    def on_response_complete(self) -> None:
        """Start the deadline for the rest of an unread body. Begin no request that came before the client has read the
        response: its response would wait in memory, uncounted.
        """
        if self.conn.trailing_data[0] and self._has_slow_reader():
            self.transport.close()
        super().on_response_complete()
        if not self.transport.is_closing() and self._has_unread_body():
            self._arm(self.limits.body_s)

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection."""
        self._disarm()
        super().timeout_keep_alive_handler()

    @property
    def unread(self) -> int:
        """Return how many bytes of responses wait in this process until the client reads."""
        own = 0 if self.transport.is_closing() and self.below else self.transport.get_write_buffer_size()
        return own + (self.below.get_write_buffer_size() if self.below else 0)

    @property
    def is_left(self) -> bool:
        """Return whether the server has closed TLS, all data is sent, and only the client's end of TLS is missing."""
        return self.below is not None and self.transport.is_closing() and not self.below.get_write_buffer_size()

    def drop(self) -> None:
        """End the connection at once, without the rest of a response."""
        (self.below or self.transport).abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the deadlines."""
        self._disarm()
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:  # after an error uvicorn leaves it running, with all buffers
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request, and close the connection. If a response has begun, only close."""
        if self._is_answering() and self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(400, "Bad Request", msg)

    def _has_unread_body(self) -> bool:
        return not self._is_answering() and repr(self.conn.their_state) == "SEND_BODY"

    def _has_slow_reader(self) -> bool:
        return self.unread > FEW

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        if not self.transport.is_closing() and not self._is_answering():
            self._refuse(408, "Request Timeout", "The request took too long to arrive.")

    def note_refused(self, status: int = HTTPStatus.SERVICE_UNAVAILABLE) -> None:
        """Count a request or a connection that is refused with this status, or dropped without a response."""
        if self.metrics is not None:
            self.metrics.count_refused_connection(status)

    def _refuse(self, status: int, reason: str, text: str) -> None:
        self._disarm()
        self.note_refused(status)
        headers = {
            **HEADERS,
            "content-type": "text/plain; charset=utf-8",
            "content-length": str(len(text) + 1),
            "connection": "close",
        }
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
        self.transport.write("\r\n".join([*lines, "", f"{text}\n"]).encode("ascii"))
        self.transport.close()
        self.loop.call_later(_ABORT_S, self.transport.abort)


def protocol_with(limits: Limits, metrics: ServerMetrics | None = None) -> type[Protocol]:
    """Return the protocol class of connections with these limits; `metrics` counts them."""
    return type("LimitedProtocol", (Protocol,), {"limits": limits, "metrics": metrics})
