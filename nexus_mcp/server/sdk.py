"""The same tools through the official SDK's low-level server: `serve --sdk`, the differential test's reference.

The transport is ours (bounded lines, errors for what cannot be read, signals), everything behind it the SDK's.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from nexus_mcp import log
from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.calls import MAX_WAITING, correlation_key
from nexus_mcp.server.faults import Fault
from nexus_mcp.server.messages import Message, parse
from nexus_mcp.server.pipes import Sink, Source, claim
from nexus_mcp.server.protocol import CACHE_SCOPE, CACHE_TTL_MS, check_cursor
from nexus_mcp.server.stdio import STOPPING, frames
from nexus_mcp.server.stopping import Stop

if TYPE_CHECKING:
    from nexus_mcp.server.app import Answer, App

Context = ServerRequestContext[Any]
Done = Callable[[bool], None]  # takes whether the answer was written out
Settle = Callable[[types.RequestId, Done], None]


def _at_once(_id: types.RequestId, done: Done) -> None:
    """For transports that cannot tell when an answer was written out."""
    done(True)  # noqa: FBT003 - the one thing there is to say


def build_server(app: App, settle: Settle = _at_once, stop: Stop | None = None) -> Server[Any]:
    """The SDK's server over the app.

    `settle` gets the id of each answered call and a function, to be called with True once the answer was written
    out, or with False when it never will be. The next call waits for that.
    """
    info = app.server_info
    hint = CacheHint(ttl_ms=CACHE_TTL_MS, scope=CACHE_SCOPE)
    server: Server[Any] = Server(
        info["name"],
        version=info["version"],
        title=info["title"],
        instructions=app.instructions,
        cache_hints={"tools/list": hint, "server/discover": hint},
    )
    tools = _Tools(app, settle, stop)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, tools.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call)
    return server


class _Tools:
    def __init__(self, app: App, settle: Settle, stop: Stop | None) -> None:
        self._app = app
        self._settle = settle
        self._stop = stop
        self._turn = anyio.Semaphore(1)  # one call at a time, first come first served

    async def list_tools(self, _context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        try:
            check_cursor(params.cursor)
        except Fault as fault:
            raise MCPError(fault.code, fault.message) from None
        return {"resultType": "complete", "tools": self._app.tools()}

    async def call(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        client = context.session.client_params
        name = client.client_info.name if client else ""
        await self._turn.acquire()
        try:
            answer = await self._run(params.name, params.arguments, name)
            result = {"resultType": "complete", **answer.result}
        except BaseException:
            self._turn.release()
            raise

        def done(delivered: bool) -> None:  # noqa: FBT001
            if delivered:
                answer.delivered()
            else:
                answer.undelivered()
            self._turn.release()

        assert context.request_id is not None
        self._settle(context.request_id, done)
        return result

    async def _run(self, tool: str, arguments: dict[str, Any] | None, client: str) -> Answer:
        answers: list[Answer] = []  # outlives a cancellation, which lets the thread finish first
        try:
            if self._stop is not None and self._stop.is_due():
                raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
            await anyio.to_thread.run_sync(lambda: answers.append(self._app.call(tool, arguments, client)))
            await anyio.lowlevel.checkpoint_if_cancelled()  # cancelled meanwhile: the SDK will not write this answer
        except MCPError:
            raise
        except UnknownTool as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except Exception as error:  # noqa: BLE001 - a defect in one call must not end the others
            log.error(f"{tool}: {type(error).__name__}: {error}")
            raise MCPError(types.INTERNAL_ERROR, "Internal server error") from None
        except BaseException:
            for answer in answers:
                answer.undelivered()
            raise
        return answers[0]


def serve_sdk(app: App, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve one connection through the SDK, with the ends of `serve`. Returns the exit code, 0."""
    try:
        source, sink = claim(stdin_fd, stdout_fd)
    except OSError as error:
        log.warning(f"standard input or output is closed ({error.strerror}): there is nobody to serve")
        return 0
    stop = Stop()
    try:
        with stop:
            anyio.run(_Pump(app, Source(source, stop), Sink(sink, stop), stop).run)
    finally:
        os.close(source)
        os.close(sink)
    return 0


class _Pump:
    """Carries messages between the wire and the SDK, and knows which requests have no answer yet."""

    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop) -> None:
        self._source = source
        self._sink = sink
        self._stop = stop
        self._open: dict[str | int, int] = defaultdict(int)
        self._changed: anyio.Event | None = None
        self._unwritten: dict[types.RequestId, list[Done]] = defaultdict(list)
        self._server = build_server(app, lambda id, done: self._unwritten[id].append(done), stop)

    async def run(self) -> None:
        to_sdk, sdk_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sdk_writes, from_sdk = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, to_sdk)
            group.start_soon(self._write, from_sdk)
            await self._server.run(sdk_reads, sdk_writes, self._server.create_initialization_options())
        for left in self._unwritten.values():
            for done in left:
                done(False)  # noqa: FBT003

    async def _read(self, to_sdk: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        lines = frames(self._source)
        async with to_sdk:
            while (line := await anyio.to_thread.run_sync(next, lines, None)) is not None:
                try:
                    message = parse(line) if isinstance(line, bytes) else _raise(line)
                except Fault as fault:
                    await self._send(fault.response())
                    continue
                if message is not None:
                    self._note(message)
                    await to_sdk.send(SessionMessage(_for_sdk(message)))
                await self._until(MAX_WAITING)
            if self._stop.requested:
                log.info(STOPPING)
            # The SDK drops what it has not answered when its input ends, so its input ends last.
            await self._until(0)

    async def _write(self, from_sdk: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_sdk:
            async for item in from_sdk:
                message = item.message.model_dump(by_alias=True, exclude_unset=True)
                sent = await self._send(message)
                if "id" in message and "method" not in message:
                    self._settle(message["id"], delivered=sent and "result" in message)

    async def _send(self, message: dict[str, Any]) -> bool:
        return await anyio.to_thread.run_sync(self._sink.send, message)

    def _settle(self, id: types.RequestId, *, delivered: bool) -> None:
        if self._unwritten.get(id):
            self._unwritten[id].pop(0)(delivered)
        self._close(correlation_key(id))

    def _note(self, message: Message) -> None:
        if message.is_request:
            self._open[correlation_key(message.id)] += 1
        elif message.method == "notifications/cancelled":
            id = (message.params or {}).get("requestId")
            if isinstance(id, (str, int)) and not isinstance(id, bool):
                self._close(correlation_key(id))  # never answered

    def _close(self, key: str | int) -> None:
        if self._open.get(key):
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
        if self._changed is not None:
            self._changed.set()

    async def _until(self, most: int) -> None:
        while sum(self._open.values()) > most:
            self._changed = anyio.Event()
            await self._changed.wait()


def _raise(fault: Fault) -> Message | None:
    raise fault


def _for_sdk(message: Message) -> types.JSONRPCMessage:
    params = {} if message.params is None else {"params": message.params}
    if message.is_request:
        assert message.id is not None
        return types.JSONRPCRequest(jsonrpc="2.0", id=message.id, method=message.method, **params)
    return types.JSONRPCNotification(jsonrpc="2.0", method=message.method, **params)
