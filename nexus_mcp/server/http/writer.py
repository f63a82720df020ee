"""The `send` of one response: watch its state, and add the headers that every response has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders

from nexus_mcp.server.http.refusal import HEADERS, request_ended

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from starlette.types import Send


class Writer:
    """An ASGI `send`. `status` is 0 until the response begins. Then `on_start` is called with status and headers.

    Raise Refusal if `hang_up` is set before that: the token of the request may have been revoked.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.is_complete = False
        self.is_stream = False
        self.hang_up: asyncio.Event | None = None
        self.on_start: Callable[[int, MutableHeaders], None] | None = None

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._check()
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if headers.get("content-type", "").startswith("text/event-stream"):
                headers["x-accel-buffering"] = "no"
                self.is_stream = True
            if self.on_start is not None:
                self.on_start(self.status, headers)
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.is_complete = True

    def _check(self) -> None:
        if self.hang_up is not None and self.hang_up.is_set():
            self.hang_up = None  # the refusal is sent with this Writer, too
            raise request_ended()

    async def finish(self) -> None:
        """Complete a response that the server has cut short."""
        if self.status and not self.is_complete:
            await self({"type": "http.response.body", "body": b"", "more_body": False})
