"""The official client's end of a process."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from nexus_mcp.conformance.client import modelled
from nexus_mcp.conformance.trouble import garbage

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from nexus_mcp.conformance.processes.process import ServerProcess


class PipeTransport:
    """A transport as `mcp.Client` takes it. Sending never waits; what comes is bounded by the process's allowance."""

    def __init__(self, start: Callable[[Callable[[bytes], None], Callable[[], None]], ServerProcess]) -> None:
        self._incoming, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        self._asked: set[str] = set()
        self.after_send: Callable[[], None] | None = None
        """Called once, right after the next message was sent."""
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
        """Part of the client's write stream, as is `aclose`."""
        if isinstance(item.message, types.JSONRPCRequest):
            self._asked.add(str(item.message.id))
        self.process.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if self.after_send is not None:
            then, self.after_send = self.after_send, None
            then()

    async def aclose(self) -> None:
        """Leaves the process alone: how it ends is watched elsewhere."""

    def _line(self, line: bytes) -> None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self.process.fail(garbage(line))
            return
        if wrong := modelled.fault(message):
            self.process.fail(wrong)
            return
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)) and message.id is not None:
            if str(message.id) not in self._asked:
                self.process.fail("sent an answer to what it was not asked, or a second one")
                return
            self._asked.remove(str(message.id))
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody asks it any more
            self._incoming.send_nowait(SessionMessage(message))
