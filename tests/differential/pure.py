"""The SDK's server over the SDK's own stdio transport: nothing of ours between the line and the answer."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server

from nexus_mcp.server.calls import correlation_key
from nexus_mcp.server.sdk import build_server

if TYPE_CHECKING:
    from nexus_mcp.server.app import App


def serve_pure(app: App, stdin_fd: int, stdout_fd: int) -> int:
    """Serve until the input ends and all that the SDK took for a request is answered."""
    anyio.run(_serve, app, stdin_fd, stdout_fd)
    return 0


class _Lines:
    """Input that ends only once every request has its answer: the SDK drops what is open when its input ends."""

    def __init__(self, fd: int) -> None:
        self._file = os.fdopen(os.dup(fd), encoding="utf-8", errors="replace")
        self.open: list[object] = []
        self.settled = anyio.Event()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self._file.readline)
        if not line:
            while self.open:
                self.settled = anyio.Event()
                await self.settled.wait()
            self._file.close()
            raise StopAsyncIteration
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return line
        if isinstance(message, types.JSONRPCRequest):
            self.open.append(correlation_key(message.id))
        return line


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
            self._lines.open.remove(correlation_key(message["id"]))
            self._lines.settled.set()

    async def flush(self) -> None:
        """Nothing is kept back."""


async def _serve(app: App, stdin_fd: int, stdout_fd: int) -> None:
    lines = _Lines(stdin_fd)
    output: Any = _Output(stdout_fd, lines)
    source: Any = lines
    server = build_server(app)
    async with stdio_server(source, output) as (read, write):
        await server.run(read, write, server.create_initialization_options())
