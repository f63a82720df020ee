"""A server under observation: started as a process and driven by the official MCP client over stdio."""

from __future__ import annotations

import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from nexus_mcp.errors import NexusError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

DEFAULT_TIMEOUT = 30.0
"""Seconds one answer may take."""


class Outcome(NamedTuple):
    """The answer to one call: what it holds, whether it is an error, and after how many seconds it came."""

    value: dict[str, Any]
    is_error: bool
    seconds: float


class Target:
    """A connected server."""

    def __init__(self, client: Client, seconds: float) -> None:
        self._client = client
        self.seconds = seconds
        """From the start of the process until the connection was negotiated."""

    @property
    def name(self) -> str:
        """The name the server gives itself, with its version."""
        info = self._client.server_info
        return f"{info.name} {info.version}" if info else "(a server without a name)"

    @property
    def protocol(self) -> str:
        """The protocol revision that was agreed on."""
        return self._client.protocol_version

    async def tool_names(self) -> list[str]:
        """The names of the server's tools, in its order."""
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Calls a tool. Raises NexusError when the server refuses the request or answers in no usable shape."""
        started = time.perf_counter()
        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            raise NexusError(f"{name}: the server refused the request: {error}") from error
        seconds = time.perf_counter() - started
        if not isinstance(result.structured_content, dict):
            raise NexusError(f"{name}: the answer has no structuredContent object.")
        return Outcome(result.structured_content, bool(result.is_error), seconds)


@asynccontextmanager
async def stdio_target(
    command: Sequence[str],
    cwd: str,
    *,
    mode: str = "auto",
    environment: Mapping[str, str] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> AsyncIterator[Target]:
    """Starts `command` in `cwd`, connects to it, and ends it afterwards.

    `mode` is "auto" (modern protocol, else handshake), "legacy" (handshake) or a modern revision. The process sees
    only the basic variables (HOME, PATH …) and `environment`. Raises NexusError when no connection comes about.
    """
    server = StdioServerParameters(
        command=command[0], args=list(command[1:]), cwd=cwd, env=dict(environment or {}) or None
    )
    # By its descriptor: the client would take whatever stood in for stderr when it was first imported.
    transport = stdio_client(server, errlog=sys.__stderr__) if sys.__stderr__ else stdio_client(server)
    client = Client(transport, mode=mode, read_timeout_seconds=timeout)
    started = time.perf_counter()
    try:
        await client.__aenter__()
    except (OSError, MCPError, ExceptionGroup) as error:
        raise NexusError(f"{command[0]} could not be reached as an MCP server: {_innermost(error)}") from error
    try:
        yield Target(client, time.perf_counter() - started)
    finally:
        await client.__aexit__(None, None, None)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
