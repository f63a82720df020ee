"""Hold a connection of the official client to a target.

A connection lives in a task of its own. The client's scopes must be left where they were entered, and an error inside
them cancels the task around them; a fixture must survive both when its server is killed.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import mcp_types as types
from mcp import Client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from nexus_mcp import __version__
from nexus_mcp.conformance.client.answers import ask, broken_schema, reply
from nexus_mcp.conformance.client.transport import PipeTransport
from nexus_mcp.conformance.failures import TargetFailure, TargetTimeout, first_line, unwrap_group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.conformance.client.answers import Whole
    from nexus_mcp.conformance.failures import Reply

    Answered = tuple[Whole | str, float]
    Job = tuple[str, dict[str, Any], asyncio.Future[Answered]]

_MOST_PAGES = 100
_MOST_TOOLS = 1000
_NAME = 400
_LEAVING = 5.0


class Manner(NamedTuple):
    """How to talk to a target: the client's mode, and the target's reply to the discovery request."""

    mode: str = "auto"
    discovered: Any = None


PLAIN = Manner("legacy")
"""The handshake that every server knows."""


class Connection:
    """A connection to a target that answers.

    `server` is its name and version, `tools` are the names it lists, `described` has the output schemas of those tools
    that have one.
    """

    def __init__(self, source: Any, manner: Manner) -> None:
        self.server = ""
        self.protocol = ""
        self.tools: tuple[str, ...] = ()
        self.described: dict[str, Any] = {}
        self.manner = manner
        self._broken = ""
        self._source = source
        self._jobs: asyncio.Queue[Job | None] = asyncio.Queue()
        self._ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(source))

    @classmethod
    async def open(cls, source: Any, manner: Manner, seconds: float) -> Connection:
        """Connect and list the tools. `source`: a transport, a URL or a low-level server. Raises TargetFailure."""
        for name in ("mcp", "client"):
            # The report holds what the SDK logs about the target, so nothing goes to stderr.
            if not logging.getLogger(name).handlers:
                logging.getLogger(name).addHandler(logging.NullHandler())
        self = cls(source, manner)
        try:
            await self._wait_for(self._ready, seconds, "the handshake")
        except BaseException:
            await self.close()
            raise
        return self

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> Reply:
        """Call the tool of this name and return the reply. Raises TargetFailure when no response comes."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._jobs.put_nowait((tool, dict(arguments), future))
        await self._wait_for(future, seconds, tool)
        # Here the target's time has ended, and an error is not one of its connection.
        result, took = future.result()
        answer = reply(result, took)
        if isinstance(result, str) or answer.is_error or tool not in self.described:
            return answer
        fault = await broken_schema(tool, self.described[tool], result, seconds)
        return replace(answer, schema_fault=fault)

    async def close(self) -> None:
        """End the client; a process behind it is not touched."""
        self._jobs.put_nowait(None)
        if not self._ready.done() or self._ready.cancelled():
            self._task.cancel()
        _, left = await asyncio.wait({self._task}, timeout=_LEAVING)
        for task in left:
            task.cancel()
            await asyncio.wait({task}, timeout=_LEAVING)

    def abandon(self) -> None:
        """End the client without waiting."""
        self._task.cancel()

    async def _wait_for(self, future: asyncio.Future[Any], seconds: float, what: str) -> None:
        await asyncio.wait({future, self._task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            future.result()
            return
        future.cancel()
        if self._task.done():
            raise TargetFailure(self._broken or "closed the connection")
        raise TargetTimeout(f"did not answer {what} within {seconds:g} s")

    async def _live(self, source: Any) -> None:
        try:
            async with Client(
                source,
                mode=self.manner.mode,
                prior_discover=self.manner.discovered,
                client_info=types.Implementation(name="nexus-mcp conformance", version=__version__),
            ) as client:
                await self._introduce(client)
                self._ready.set_result(None)
                while job := await self._jobs.get():
                    await self._handle_job(client, *job)
        except Exception as error:  # noqa: BLE001 - any error of the client while it talks is caused by the target
            cause = unwrap_group(error)
            did = "broke the connection" if self._ready.done() else "could not be reached"
            self._broken = f"{did}: {first_line(str(cause)) or type(cause).__name__}"

    async def _introduce(self, client: Client) -> None:
        info = client.server_info
        name = f"{info.name} {info.version}" if info else "(a server without a name)"
        self.server = name if len(name) <= _NAME else f"{name[:_NAME]}…"
        self.protocol = client.protocol_version
        legacy = self.protocol in HANDSHAKE_PROTOCOL_VERSIONS
        self.manner = PLAIN if legacy else Manner(self.protocol, client.session.discover_result)
        tools: list[types.Tool] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if len(tools) > _MOST_TOOLS:
                raise ValueError(f"it lists more than {_MOST_TOOLS} tools")
            if cursor is None:
                break
        self.tools = tuple(tool.name for tool in tools)
        self.described = {tool.name: tool.output_schema for tool in tools if tool.output_schema is not None}

    async def _handle_job(
        self, client: Client, tool: str, arguments: dict[str, Any], future: asyncio.Future[Answered]
    ) -> None:
        try:
            answered = await ask(client, tool, arguments, self._ended)
        except TargetFailure as failure:
            if not future.done():
                future.set_exception(failure)
        else:
            if not future.done():
                future.set_result(answered)

    def _ended(self) -> bool:
        """Return whether the connection may be over: without a process it is unknown."""
        return not isinstance(self._source, PipeTransport) or self._source.process.ended
