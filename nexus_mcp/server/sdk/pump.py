"""Carry messages between the wire and the SDK's server, and records of Python's logging to our log."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from nexus_mcp import log
from nexus_mcp.server.call_queue import MAX_WAITING, correlation_key
from nexus_mcp.server.faults import Fault, internal_error
from nexus_mcp.server.messages import Message, parse, recover_id
from nexus_mcp.server.pipes import iter_lines
from nexus_mcp.server.sdk.handlers import Turns, build_server
from nexus_mcp.server.stopping import STOPPING

if TYPE_CHECKING:
    from nexus_mcp.server.app import App
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.observing import Observer
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.stopping import Stop


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = f"{record.name}: {self.format(record)}"
        except Exception as error:  # noqa: BLE001 - a log call with wrong arguments is not our caller's fault
            text = f"{record.name}: a log line that cannot be formatted ({type(error).__name__})"
        if record.levelno >= logging.ERROR:
            log.error(text)
        elif record.levelno >= logging.WARNING:
            log.warning(text)
        elif record.levelno >= logging.INFO:
            log.info(text)
        else:
            log.debug(text)


@contextmanager
def logging_to_our_log() -> Iterator[None]:
    """Within the block, send log records and Python warnings to our log: one line each, never blocking."""
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [_Handler()]
    logging.captureWarnings(True)  # noqa: FBT003 - its only form
    try:
        yield
    finally:
        logging.captureWarnings(False)  # noqa: FBT003
        root.handlers[:] = before


LISTEN = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"


class Pump:
    """Carries messages between the wire and the SDK, and knows which requests have no answer yet."""

    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop, observers: Collection[Observer] = ()) -> None:
        self._source = source
        self._sink = sink
        self._stop = stop
        self._open: dict[str | int, int] = defaultdict(int)
        self._changed: anyio.Event | None = None
        self._turns = Turns()
        self._server = build_server(app, self._turns, stop, observers=observers)
        self._listens = self._server.subscribing.listens  # ids of open listen requests

    async def run(self) -> None:
        to_sdk, sdk_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sdk_writes, from_sdk = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, to_sdk)
            group.start_soon(self._write, from_sdk)
            await self._server.run(sdk_reads, sdk_writes, self._server.create_initialization_options())
        self._turns.end()

    async def _read(self, to_sdk: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        lines = iter_lines(self._source)
        async with to_sdk:
            while (line := await anyio.to_thread.run_sync(next, lines, None)) is not None:
                message: Message | None = None
                try:
                    message = parse(line) if isinstance(line, bytes) else _raise(line)
                    meant = () if message is None else self._admit(message)
                except Fault as fault:
                    await self._send(fault.response())
                    continue
                except Exception as error:  # noqa: BLE001 - a defect in handling one line must not stop the rest
                    log.error(f"a line could not be handled: {type(error).__name__}: {error}")
                    if message is None or message.is_request:
                        id = message.id if message else recover_id(line) if isinstance(line, bytes) else None
                        await self._send(internal_error(id).response())
                    continue
                for one in meant:
                    await to_sdk.send(SessionMessage(one))
                await self._until(MAX_WAITING)
            if self._stop.requested:
                log.info(STOPPING)
            # The SDK drops unanswered requests when its input ends, so its input ends last.
            await self._until(0)
            if self._server.subscribing.is_used:
                self._stop.request()  # a client that reads no notifications must not delay the end
            await self._server.subscribing.end()
            await self._until_unheard()

    async def _write(self, from_sdk: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_sdk:
            async for item in from_sdk:
                message = _dump(item.message)
                is_answer = "id" in message and "method" not in message
                if is_answer and self._listens.is_ours(message["id"]):
                    await self._send_end(message)
                    continue
                sent = await self._send(message)
                if is_answer:
                    self._settle(message["id"], delivered=sent and "result" in message)

    async def _send(self, message: dict[str, Any]) -> bool:
        try:
            return await anyio.to_thread.run_sync(self._sink.send, message)
        except RuntimeError:  # no thread left: send here, while everything else waits
            return self._sink.send(message)

    def _settle(self, id: types.RequestId, *, delivered: bool) -> None:
        self._turns.settle(id, delivered=delivered)
        self._close(correlation_key(id))

    async def _send_end(self, message: dict[str, Any]) -> None:
        """Write the response of a listen request, unless it was cancelled."""
        ours = message["id"]
        client_id = self._listens.client_id(ours)
        if client_id != ours:
            await self._send({**message, "id": client_id})
            self._listens.end(ours)
            self._has_changed()

    def _admit(self, message: Message) -> tuple[types.JSONRPCMessage, ...]:
        """Return the messages for the SDK. Raise Fault for a listen request with the id of another open one."""
        if message.is_request:
            if message.method == LISTEN:
                ours = self._listens.begin(message.id)
                try:
                    return (_for_sdk(message, ours),)
                except Exception:
                    self._listens.end(ours)
                    raise
            meant = _for_sdk(message, message.id)
            self._open[correlation_key(message.id)] += 1
            return (meant,)
        if message.method == _CANCELLED:
            id = (message.params or {}).get("requestId")
            if isinstance(id, (str, int)) and not isinstance(id, bool):
                self._close(correlation_key(id))  # no response will come
                listen = self._listens.cancel(id)
                if listen is not None:
                    also = types.JSONRPCNotification(jsonrpc="2.0", method=_CANCELLED, params={"requestId": listen})
                    return (_for_sdk(message, message.id), also)
        return (_for_sdk(message, message.id),)

    def _close(self, key: str | int) -> None:
        if self._open.get(key):
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
        self._has_changed()

    def _has_changed(self) -> None:
        if self._changed is not None:
            self._changed.set()

    async def _until(self, most: int) -> None:
        while sum(self._open.values()) > most:
            await self._change()

    async def _until_unheard(self) -> None:
        while self._listens:
            await self._change()

    async def _change(self) -> None:
        self._changed = anyio.Event()
        await self._changed.wait()


def _dump(message: types.JSONRPCMessage) -> dict[str, Any]:
    try:
        return message.model_dump(by_alias=True, exclude_unset=True)
    except Exception as error:
        log.error(f"an answer could not be made: {type(error).__name__}: {error}")
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
            return internal_error(message.id).response()
        raise


def _raise(fault: Fault) -> Message | None:
    raise fault


def _for_sdk(message: Message, id: Id) -> types.JSONRPCMessage:
    params = {} if message.params is None else {"params": message.params}
    if message.is_request:
        assert id is not None
        return types.JSONRPCRequest(jsonrpc="2.0", id=id, method=message.method, **params)
    return types.JSONRPCNotification(jsonrpc="2.0", method=message.method, **params)
