"""Talk to a target with the official client: a connection, and a session, which adds the process behind the connection.

A connection runs in a task of its own: the same task must enter and leave the client's scopes, and an error inside
them cancels that task. So the task of a fixture continues when the server is killed. A fault that the process shows
takes precedence over one that the client reports.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import mcp_types as types
from mcp import Client, MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from nexus_mcp import __version__
from nexus_mcp.conformance.client.served import ServedTransport
from nexus_mcp.conformance.client.transport import HttpTransport, PipeTransport
from nexus_mcp.conformance.document import count_values
from nexus_mcp.conformance.failures import (
    Reply,
    TargetFailure,
    TargetTimeout,
    describe_garbage,
    first_line,
    quote_stderr,
    unwrap_group,
)
from nexus_mcp.conformance.limits import VALUES
from nexus_mcp.conformance.matchers import same
from nexus_mcp.conformance.processes.helper import schema_fault
from nexus_mcp.conformance.stopping import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nexus_mcp.conformance.processes.process import ServerProcess
    from nexus_mcp.conformance.settings import TargetOptions

Answered = tuple["Whole | str", float]
Job = tuple[str, dict[str, Any], "asyncio.Future[Answered]"]
_MOST_PAGES = 100
_MOST_TOOLS = 1000
_NAME = 400
_LEAVING = 5.0
# Messages of the client itself when there was no response.
_NO_ANSWERS = {"Connection closed", "Server returned an error response", "Session terminated"}
_PLACE = 2000
"""Characters at the start of a pydantic error in which `_place` looks for the location of the fault."""


class Manner(NamedTuple):
    """How to talk to a target: the client's mode, and the target's reply to the discovery request."""

    mode: str = "auto"
    discovered: Any = None


PLAIN = Manner("legacy")
"""The handshake that every server knows."""


class Connection:
    """A connection to a target that answers.

    `server` is the name and version of the target, `tools` are the names of its tools. `listed` has each tool as the
    server sent it, without fields that the protocol does not define. `described` has the output schema of each tool
    that has one. Both are by name.
    """

    def __init__(self, source: Any, manner: Manner) -> None:
        self.server = ""
        self.protocol = ""
        self.tools: tuple[str, ...] = ()
        self.listed: dict[str, dict[str, Any]] = {}
        self.described: dict[str, Any] = {}
        self.manner = manner
        self._broken = ""
        self._source = source
        self._jobs: asyncio.Queue[Job | None] = asyncio.Queue()
        self._ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(source))

    @classmethod
    async def open(cls, source: Any, manner: Manner, seconds: float) -> Connection:
        """Connect and list the tools. `source`: a transport, a URL or a low-level server. Raise TargetFailure."""
        for name in ("mcp", "client"):
            # The report describes the target's faults, so the SDK must not log them to stderr.
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
        """Call the tool of this name and return the reply. Raise TargetFailure without a valid response."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._jobs.put_nowait((tool, dict(arguments), future))
        await self._wait_for(future, seconds, tool)
        # If the call failed or timed out, _wait_for has raised: the future has a result.
        result, took = future.result()
        answer = make_reply(result, took)
        if isinstance(result, str) or answer.is_error or tool not in self.described:
            return answer
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            fault = f"Tool {tool} has an output schema but did not return structured content"
        else:
            value, schema = result.structured_content, self.described[tool]
            fault = await in_thread(lambda: schema_fault(tool, schema, value, seconds))
        return replace(answer, schema_fault=fault, described=True)

    async def close(self) -> None:
        """End the client; a process behind it is not touched."""
        self._jobs.put_nowait(None)
        if not self._ready.done() or self._ready.cancelled():
            self._task.cancel()
        _, unfinished = await asyncio.wait({self._task}, timeout=_LEAVING)
        for task in unfinished:
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
        # Of two tools with one name, `listed` has the first; the server decides which one a call reaches.
        for tool in tools:
            self.listed.setdefault(tool.name, tool.model_dump(mode="json", by_alias=True, exclude_unset=True))
        self.described = {tool.name: tool.output_schema for tool in tools if tool.output_schema is not None}

    async def _handle_job(
        self, client: Client, tool: str, arguments: dict[str, Any], future: asyncio.Future[Answered]
    ) -> None:
        try:
            answered = await ask(client, tool, arguments, self._may_be_over)
        except TargetFailure as failure:
            if not future.done():
                future.set_exception(failure)
        else:
            if not future.done():
                future.set_result(answered)

    def _may_be_over(self) -> bool:
        """Return whether the connection may be over. Without a pipe this is unknown, so return True."""
        return not isinstance(self._source, PipeTransport) or self._source.process.ended


class Whole(types.CallToolResult):
    """A result that keeps the JSON as sent: without the defaults of the client's classes, and with the fields that they
    drop.
    """

    _sent: Any = None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        whole = super().model_validate(obj, **options)
        whole._sent = obj
        return whole

    @property
    def sent_message(self) -> Any:
        return self._sent


async def ask(
    client: Client, tool: str, arguments: dict[str, Any], ended: Callable[[], bool]
) -> tuple[Whole | str, float]:
    """Call a tool. Return its result, or the message of a protocol error, and the seconds it took.

    Raise TargetFailure for a missing response or one without the protocol's shape. `ended` returns whether the
    connection may be over: an error message of a server may have the same words as the client's message about a closed
    connection.
    """
    request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
    started = time.perf_counter()
    try:
        # Client.call_tool would drop an answer that breaks the output schema, but a report has to show it.
        result = await client.session.send_request(request, Whole)
    except MCPError as error:
        if error.error.message in _NO_ANSWERS and ended():
            raise TargetFailure(f"did not answer {tool}: {error.error.message}") from None
        return error.error.message, time.perf_counter() - started
    except ValueError as error:
        raise TargetFailure(f"sent an invalid result for {tool}: {_place(error)}") from None
    return result, time.perf_counter() - started


def make_reply(result: Whole | str, seconds: float) -> Reply:
    """Return the Reply for a result of `ask`. Raise TargetFailure when its text block is too large to check."""
    if isinstance(result, str):
        return Reply(protocol_error=result, seconds=seconds)
    text = next((block.text for block in result.content if isinstance(block, types.TextContent)), "")
    if count_values(text.encode("utf-8", "surrogatepass"), VALUES) > VALUES:
        raise TargetFailure(f"answered with a text block of more than {VALUES:,} JSON values")
    if result.structured_content is None:
        return Reply(_parse(text), text, bool(result.is_error), seconds=seconds, result=result.sent_message)
    differs = bool(text) and not same(_parse(text), result.structured_content)
    return Reply(result.structured_content, text, bool(result.is_error), "", "", seconds, differs, result.sent_message)


async def open_session(source: Any, manner: Manner, options: TargetOptions) -> Session:
    """Connect to the source of a target and return the session.

    Raise TargetFailure; its message may quote a line of the process's stderr.
    """
    transport = source if isinstance(source, (PipeTransport, ServedTransport)) else None
    remote = source if isinstance(source, HttpTransport) else None
    try:
        connection = await Connection.open(source, manner, options.start_timeout)
    except BaseException as error:
        if remote is not None and remote.fault:
            if transport is not None:
                transport.process.kill()
            raise TargetFailure(remote.fault) from None
        if transport is None:
            raise
        transport.process.kill()
        if not isinstance(error, TargetFailure) or isinstance(error, TargetTimeout):
            raise
        stderr = transport.process.stderr
        raise TargetFailure((transport.process.fault or str(error)) + quote_stderr(stderr), stderr=stderr) from None
    return Session(connection, options, transport, remote)


class Session:
    """A target that answers calls, until `end` or `kill`."""

    def __init__(
        self,
        connection: Connection,
        options: TargetOptions,
        transport: PipeTransport | ServedTransport | None,
        remote: HttpTransport | None = None,
    ) -> None:
        self.connection = connection
        self.transport = transport
        self._remote = remote
        self._options = options
        self._over = False

    @property
    def process(self) -> ServerProcess | None:
        """Return the process of this session, None when it has none of its own."""
        return self.transport.process if self.transport else None

    @property
    def access(self) -> tuple[str, str]:
        """Return the URL of the server and the bearer token, each "" if the session has none."""
        return (self._remote.url, self._remote.token) if self._remote is not None else ("", "")

    @property
    def stderr(self) -> str:
        """Return the end of its process's stderr, "" without a process."""
        return self.process.stderr if self.process else ""

    async def call(self, tool: str, params: Mapping[str, Any]) -> Reply:
        """Call a tool by its name in the contract. Raise TargetFailure without such a tool or a valid response."""
        name = self._options.actual(tool)
        if name not in self.connection.tools:
            raise TargetFailure(f"has no tool {name}")
        try:
            return await self.connection.call(name, params, self._options.timeout)
        except TargetFailure as failure:
            raise TargetFailure(self.fault or str(failure)) from None

    def list_tools(self, tools: Sequence[str]) -> Reply:
        """Return a reply whose payload maps each name in `tools` to the listed tool, as `normalized_tool` returns it.

        The names are those in the contract. Raise TargetFailure for a tool that is not listed.
        """
        payload = {}
        for tool in tools:
            name = self._options.actual(tool)
            if name not in self.connection.listed:
                raise TargetFailure(f"has no tool {name}")
            payload[tool] = normalized_tool(self.connection.listed[name])
        return Reply(payload)

    @property
    def fault(self) -> str:
        """Return the fault of its process, or of the server at its URL, so far; "" without one."""
        if self._remote is not None and self._remote.fault:
            return self._remote.fault
        return self.process.fault if self.process else ""

    async def end(self) -> str:
        """End the session as a client does after its last call. Return the fault of its process or server, or ""."""
        if self._over:
            return ""
        self._over = True
        complaint = ""
        try:
            await self.connection.close()
            if self.process is not None:
                complaint = await self.process.end(self._options.end_timeout) or _last_words(self.process)
        finally:
            self._drop()
        return self.fault or complaint

    def kill(self) -> None:
        """End the session at once: kill its process and all processes that the process started."""
        self._over = True
        self._drop()

    def _drop(self) -> None:
        self.connection.abandon()
        if self.process is not None:
            self.process.kill()


HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The hints about a tool, each with the default that the protocol defines."""


def normalized_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a listed tool in one form: with sorted `required`, and with defaults for absent fields and hints."""
    schema = tool.get("inputSchema")
    found = dict(tool)
    if isinstance(schema, dict):
        required = schema.get("required", [])
        is_sortable = isinstance(required, list) and all(isinstance(name, str) for name in required)
        found["inputSchema"] = {"properties": {}, **schema, "required": sorted(required) if is_sortable else required}
    hints = tool.get("annotations")
    return {**found, "annotations": {**HINTS, **(hints if isinstance(hints, dict) else {})}}


def _place(error: ValueError) -> str:
    """Return place and message of the first fault in pydantic's text, which has them in its second and third line."""
    lines = [line.strip() for line in str(error)[:_PLACE].splitlines()]
    return first_line(": ".join(lines[1:3]).partition(" [type=")[0] or str(error))


def _parse(text: str) -> Any:
    """Return the value of a JSON text, None when it is not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> None:
    raise ValueError(word)


def _last_words(process: ServerProcess) -> str:
    """Return the fault of a process that has ended: its unfinished line or its exit code; "" if it has none."""
    if process.unfinished_line:
        return describe_garbage(process.unfinished_line)
    return f"{process.death.description} after its stdin was closed" if process.death.code else ""
