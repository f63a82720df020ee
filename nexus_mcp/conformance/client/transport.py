"""Connect the official client to a process or a URL, and refuse messages that would take too much memory.

The client validates each part of a message against models and keeps every fault: a list of 250,000 numbers in place of
content blocks takes more than a gigabyte.
"""

from __future__ import annotations

import math
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage

from nexus_mcp.conformance.document import count_values
from nexus_mcp.conformance.failures import describe_garbage
from nexus_mcp.conformance.limits import VALUES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from nexus_mcp.conformance.processes.process import Allowance, ServerProcess

MOST = 20_000
"""Largest number of parts of one message, without those of its payload."""
_FREE = frozenset(
    ("structuredContent", "inputSchema", "outputSchema", "requestedSchema", "_meta", "arguments", "data", "metadata")
)
"""Fields that may hold any value, which the client does not validate."""


def fault(message: Any) -> str:
    """Return the bound that a JSON-RPC message exceeds, as a fault; "" when it exceeds none."""
    pending = [getattr(message, "result", None), getattr(message, "params", None)]
    count = 0
    while pending:
        node = pending.pop()
        inner = node if isinstance(node, list) else ()
        if isinstance(node, dict):
            inner = [member for name, member in node.items() if name not in _FREE]
        count += len(inner)
        if count > MOST:
            return f"sent a message of more than {MOST:,} parts beside its payload"
        pending.extend(inner)
    return ""


class PipeTransport:
    """A process as a transport for `mcp.Client`.

    Sending never waits; incoming data is bounded by the process's allowance.
    """

    def __init__(self, start: Callable[[Callable[[bytes], None], Callable[[], None]], ServerProcess]) -> None:
        self._incoming, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        self._pending: set[str] = set()
        self.after_send: Callable[[], None] | None = None
        """A function to call once, right after the next message was sent."""
        try:
            self.process = start(self._line, self._incoming.close)
        except BaseException:
            self._incoming.close()
            self._read.close()
            raise

    async def __aenter__(self) -> tuple[Any, Any]:
        return self._read, self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._read.close()

    async def send(self, item: SessionMessage) -> None:
        """Send a message. The client has this transport as its write stream, and calls `send` and `aclose`."""
        if isinstance(item.message, types.JSONRPCRequest):
            self._pending.add(str(item.message.id))
        self.process.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if self.after_send is not None:
            then, self.after_send = self.after_send, None
            then()

    async def aclose(self) -> None:
        """Do nothing: the end of the process is watched elsewhere."""

    def _line(self, line: bytes) -> None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self.process.fail(describe_garbage(line))
            return
        if wrong := fault(message):
            self.process.fail(wrong)
            return
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)) and message.id is not None:
            if str(message.id) not in self._pending:
                self.process.fail("sent a response without a request, or a second response")
                return
            self._pending.remove(str(message.id))
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has closed its end
            self._incoming.send_nowait(SessionMessage(message))


class _CheckedStream:
    """A stream that checks each message before the client gets it. It ends with its sender or at the event `ended`."""

    def __init__(self, stream: Any, check: Callable[[Any], Any], ended: anyio.Event) -> None:
        self._stream = stream
        self._check = check
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _CheckedStream:
        return self

    async def __anext__(self) -> Any:
        found: list[Any] = []

        async def take() -> None:
            with suppress(StopAsyncIteration):
                found.append(await self._stream.__anext__())
            group.cancel_scope.cancel()

        async def watch() -> None:
            await self._ended.wait()
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(take)
            group.start_soon(watch)
        if not found:
            raise StopAsyncIteration
        return self._check(found[0])

    async def __aenter__(self) -> _CheckedStream:
        return self

    async def __aexit__(self, *how: object) -> None:
        await self._stream.aclose()


class HttpTransport:
    """A URL as a transport for `mcp.Client`. `fault` is the fault of the server, or "".

    `token` is the bearer token of each request, "" for none. Once `ended` is set, the client sees a closed connection.
    """

    def __init__(self, url: str, allowance: Allowance) -> None:
        self.fault = ""
        self.url = url
        self.token = ""
        self.ended = anyio.Event()
        self.after_send: Callable[[], None] | None = None
        """A function to call once, right before the next POST request is sent."""
        self._allowance = allowance
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> tuple[Any, Any]:
        async with AsyncExitStack() as stack:
            # A few compressed bytes could expand to gigabytes.
            own = {"authorization": f"Bearer {self.token}"} if self.token else {}
            client = create_mcp_http_client(headers={"accept-encoding": "identity", **own})
            client.event_hooks = {"request": [self._note_request], "response": [self._limit_response]}
            await stack.enter_async_context(client)
            streams: tuple[Any, Any] = await stack.enter_async_context(
                streamable_http_client(self.url, http_client=client)
            )
            self._stack = stack.pop_all()
        return _CheckedStream(streams[0], self._check, self.ended), streams[1]

    async def _note_request(self, request: Any) -> None:
        if self.after_send is not None and request.method == "POST":
            then, self.after_send = self.after_send, None
            then()

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _limit_response(self, response: Any) -> None:
        """Refuse a compressed response. Count bytes and values of any other as they are read; fail beyond a bound."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            self._fail("sent a compressed response, although the request allows only identity")
        raw = response.aiter_raw

        async def read_counting(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            size = found = 0
            async for part in raw(chunk_size):
                size += len(part)
                found += count_values(part, VALUES) - 1
                self._allowance.count_printed(len(part), 0, size)
                if found > VALUES:
                    self._fail(f"flooded: it sent more than {VALUES:,} JSON values at once")
                if self._allowance.complaint:
                    self._fail(self._allowance.complaint.replace("printed", "sent").replace("a line", "an answer"))
                yield part

        response.aiter_raw = read_counting

    def _check(self, item: Any) -> Any:
        if wrong := fault(getattr(item, "message", None)):
            self._fail(wrong)
        return item

    def _fail(self, fault: str) -> None:
        self.fault = self.fault or fault
        raise ValueError(self.fault)
