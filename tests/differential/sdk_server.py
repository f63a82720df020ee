"""The SDK's server over the SDK's own stdio transport, without any transport code of nexus_mcp."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server

from nexus_mcp.server.call_queue import correlation_key
from nexus_mcp.server.sdk import build_server
from nexus_mcp.server.sdk.pump import LISTEN

if TYPE_CHECKING:
    from nexus_mcp.server.app import App


def serve_pure(app: App, stdin_fd: int, stdout_fd: int) -> int:
    """Serve until the input ends and all that the SDK took for a request is answered."""
    anyio.run(_serve, app, stdin_fd, stdout_fd)
    return 0


class _Lines:
    """Input that ends only once every request has its response: the SDK drops open requests when its input ends."""

    def __init__(self, fd: int, end: Callable[[], Awaitable[None]]) -> None:
        self._file = os.fdopen(os.dup(fd), encoding="utf-8", errors="replace")
        self._end_what_stays_open = end
        self.open: list[object] = []
        self.listening: list[object] = []
        self.settled = anyio.Event()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self._file.readline)
        if not line:
            await self._until_settled(self.open)
            await self._end_what_stays_open()
            await self._until_settled(self.listening)
            self._file.close()
            raise StopAsyncIteration
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return line
        if isinstance(message, types.JSONRPCRequest):
            requests = self.listening if message.method == LISTEN else self.open
            requests.append(correlation_key(message.id))
        return line

    async def _until_settled(self, requests: list[object]) -> None:
        while requests:
            self.settled = anyio.Event()
            await self.settled.wait()

    def settle(self, id: types.RequestId) -> None:
        key = correlation_key(id)
        (self.open if key in self.open else self.listening).remove(key)
        self.settled.set()


class _Output:
    def __init__(self, fd: int, lines: _Lines) -> None:
        self._fd = fd
        self._lines = lines

    async def write(self, text: str) -> None:
        data = memoryview(text.encode())
        while data:
            data = data[os.write(self._fd, data) :]
        message = json.loads(text)
        if "id" in message and "method" not in message:
            self._lines.settle(message["id"])

    async def flush(self) -> None:
        """Do nothing: no output is buffered."""


async def _serve(app: App, stdin_fd: int, stdout_fd: int) -> None:
    server = build_server(app)
    lines = _Lines(stdin_fd, server.subscribing.end)
    output: Any = _Output(stdout_fd, lines)
    source: Any = lines
    async with stdio_server(source, output) as (read, write):
        await server.run(read, write, server.create_initialization_options())
