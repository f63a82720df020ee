"""The official client's end of a server over HTTP, which may send only so much."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from nexus_mcp.conformance.client import modelled
from nexus_mcp.conformance.limits import VALUES
from nexus_mcp.conformance.weight import values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from nexus_mcp.conformance.processes.allowance import Allowance


class _Checked:
    """A stream of messages, each of which is checked before anybody gets it."""

    def __init__(self, stream: Any, check: Callable[[Any], Any]) -> None:
        self._stream = stream
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Checked:
        return self

    async def __anext__(self) -> Any:
        return self._check(await self._stream.__anext__())

    async def __aenter__(self) -> _Checked:
        return self

    async def __aexit__(self, *how: object) -> None:
        await self._stream.aclose()


class HttpTransport:
    """A transport as `mcp.Client` takes it. `fault` is what the server did wrong, "" when nothing was."""

    def __init__(self, url: str, allowance: Allowance) -> None:
        self.fault = ""
        self._url = url
        self._allowance = allowance
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> tuple[Any, Any]:
        async with AsyncExitStack() as stack:
            # A few compressed bytes could stand for gigabytes.
            client = create_mcp_http_client(headers={"accept-encoding": "identity"})
            client.event_hooks = {"response": [self._bound]}
            await stack.enter_async_context(client)
            streams: tuple[Any, Any] = await stack.enter_async_context(
                streamable_http_client(self._url, http_client=client)
            )
            self._stack = stack.pop_all()
        return _Checked(streams[0], self._check), streams[1]

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _bound(self, response: Any) -> None:
        """Count what is read of a response, before any of it is."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            self._fail("sent a compressed answer, although it was asked for a plain one")
        raw = response.aiter_raw

        async def counted(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            size = found = 0
            async for part in raw(chunk_size):
                size += len(part)
                found += values(part, VALUES) - 1
                self._allowance.printed(len(part), 0, size)
                if found > VALUES:
                    self._fail(f"flooded: it sent more than {VALUES:,} JSON values at once")
                if self._allowance.complaint:
                    self._fail(self._allowance.complaint.replace("printed", "sent").replace("a line", "an answer"))
                yield part

        response.aiter_raw = counted

    def _check(self, item: Any) -> Any:
        if wrong := modelled.fault(getattr(item, "message", None)):
            self._fail(wrong)
        return item

    def _fail(self, fault: str) -> None:
        self.fault = self.fault or fault
        raise ValueError(self.fault)
