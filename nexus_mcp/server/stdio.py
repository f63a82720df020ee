"""Serve MCP on standard input and output without the SDK, whose imports would delay every start.

One thread reads, answers requests that need no file, and runs tool calls and read requests in arrival order. A second
thread, started by the first call or read request or after tools/list, reads while a call or read request runs. A third
polls files while there are subscriptions. docs/wire.md describes the handling of every kind of line.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock

from nexus_mcp import log
from nexus_mcp.server.faults import Fault, internal_error
from nexus_mcp.server.messages import parse, recover_id
from nexus_mcp.server.pipes import Lines
from nexus_mcp.server.protocol import Call, Connection, ReadRequest
from nexus_mcp.server.stdio_fds import serve_between
from nexus_mcp.server.stopping import STOPPING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.app import App
    from nexus_mcp.server.call_queue import CallQueue
    from nexus_mcp.server.messages import Message
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.protocol import SubscriptionRequest
    from nexus_mcp.server.stopping import Stop
    from nexus_mcp.server.subscriptions.streams import Subscriptions

_OPENING = ("initialize", "server/discover")


def serve(app: App, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve one connection until its input ends, the client goes away or a signal comes. Return the exit code, 0."""
    return serve_between(lambda source, sink, stop: _Session(app, source, sink, stop).run(), stdin_fd, stdout_fd)


class _Session:
    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop) -> None:
        self._app = app
        self._source = source
        self._sink = sink
        self._stop = stop
        self._lines = Lines(source)
        self._reading = Lock()  # guards the lines, the connection and the subscriptions
        self._connection = Connection(app)
        self._calls: CallQueue | None = None
        # Preparation to run while no input waits.
        self._preparation: Callable[[], None] | None = None
        self._subscriptions: Subscriptions | None = None

    def run(self) -> None:
        try:
            while self._begin():
                assert self._calls is not None
                self._calls.carry_out()
            if self._stop.requested and self._calls is None:
                log.info(STOPPING)
        except BaseException:
            self._stop.request()
            raise
        finally:
            if self._calls is not None:
                self._calls.finish()
            if self._subscriptions is not None:
                self._stop.request()  # a client that reads no notifications must not delay the end
                self._subscriptions.finish()

    def _begin(self) -> bool:
        """Read until a call or read request has begun. Return False when no further one will begin."""
        while not self._stop.requested:
            calls = self._calls
            if calls is not None and calls.has_constant_reader:
                if self._preparation is None:
                    return calls.wait()
            else:
                with self._reading:
                    if self._begin_of_lines():
                        return True
                    if self._lines.ended:
                        return False
                    if self._preparation is None or self._source.is_ready():
                        self._lines.read()
                        continue
            preparation, self._preparation = self._preparation, None
            preparation()
        return False

    def _begin_of_lines(self) -> bool:
        self._take_lines()
        if self._calls is None or not self._calls.begin():
            return False
        self._take_lines()  # a slot of the queue is free again
        return not self._stop.requested

    def _load(self) -> None:
        """Load the modules that every call needs, while the client reads the first response."""
        with suppress(Exception):  # the call itself reports a lasting error
            from nexus_mcp.server import call_queue, response_json  # noqa: F401

    def _warm_up(self) -> None:
        if self._calls is not None and not (self._calls.warm_up() or self._calls.has_constant_reader):
            self._preparation = self._warm_up  # resumed after the pending input is answered
            return
        with suppress(Exception):  # import it now: a later import may fail for lack of descriptors
            from nexus_mcp.server import call_queue  # noqa: F401

    def _read_on(self, *, constantly: bool) -> bool:
        """Read on the side reader's thread: while a call runs, or always if `constantly`. Return False when that thread
        must stop reading.
        """
        if constantly:
            with self._reading:
                self._take_lines(wait=True)
                if self._lines.ended:
                    return False
                self._lines.read()
                return True
        if not self._reading.acquire(blocking=False):
            return False  # the call is over
        try:
            if not self._take_lines() or self._lines.ended:
                return False
            if self._source.is_ready():
                self._lines.read()
            return self._take_lines() and not self._lines.ended
        finally:
            self._reading.release()

    def _take_lines(self, *, wait: bool = False) -> bool:
        """Handle the lines that were read. Return False when the queue has no room for a call; with `wait`, wait for
        room.
        """
        while not self._stop.requested and (line := self._lines.at_hand()) is not None:
            if self._calls is not None and not self._calls.has_room(_size(line)):
                if not wait:
                    self._lines.put_back(line)
                    return False
                self._calls.wait_for_room(_size(line))
            self._take(line)
        return True

    def _take(self, line: bytes | Fault) -> None:
        message: Message | None = None
        try:
            if isinstance(line, Fault) and (call := self._connection.large_hook(line)):
                self._add(call, 0)
                return
            message = _raise(line) if isinstance(line, Fault) else parse(line)
            if message is None:
                return
            if not message.is_request:
                self._notify(message)
                return
            reply = self._connection.request(message)
            if isinstance(reply, (Call, ReadRequest)):
                self._add(reply, _size(line))
            elif not isinstance(reply, dict):
                self._subscribe(reply)
            else:
                self._sink.send({"jsonrpc": "2.0", "id": message.id, "result": reply})
                if self._calls is None:
                    self._prepare(message.method)
        except Fault as fault:
            self._sink.send(fault.response())
        except Exception as error:  # noqa: BLE001 - a defect in handling one line must not stop the rest
            log.error(f"a line could not be handled: {type(error).__name__}: {error}")
            if message is None:
                self._sink.send(internal_error(recover_id(line) if isinstance(line, bytes) else None).response())
            elif message.is_request:  # a notification is never answered
                self._sink.send(internal_error(message.id).response())

    def _prepare(self, answered: str) -> None:
        if answered in _OPENING:
            self._preparation = self._load
        elif answered == "tools/list":
            self._make_calls()  # a call is likely to follow
            self._preparation = self._warm_up

    def _notify(self, message: Message) -> None:
        if message.method == "notifications/cancelled":
            id = (message.params or {}).get("requestId")
            if isinstance(id, (str, int)) and not isinstance(id, bool):
                if self._calls is not None:
                    self._calls.cancel(id)
                if self._subscriptions is not None:
                    self._subscriptions.cancel(id)
        self._connection.notify(message)

    def _subscribe(self, request: SubscriptionRequest) -> None:
        """Carry out a subscription request and answer it, unless it stays open. Raise Fault."""
        if self._subscriptions is None:
            from nexus_mcp.server.subscriptions.streams import Subscriptions  # few clients subscribe

            self._subscriptions = Subscriptions(self._app.workspace, self._sink)
        try:
            result = self._subscriptions.take(request)
        except Fault as fault:
            raise fault.of(request.id) from None
        if result is not None:
            self._sink.send({"jsonrpc": "2.0", "id": request.id, "result": request.result(result)})

    def _add(self, call: Call | ReadRequest, size: int) -> None:
        problem = self._make_calls() if self._calls is None else ""
        if self._calls is None:
            log.error(f"{call.name} cannot be carried out: {problem}")
            self._sink.send(internal_error(call.id).response())
            return
        self._calls.add(call, size)

    def _make_calls(self) -> str:
        """Create the queue. Return the reason for a failure, "" for success."""
        try:
            from nexus_mcp.server.call_queue import CallQueue  # not needed to answer initialize and tools/list

            self._calls = CallQueue(self._app, self._source, self._sink, self._stop, self._read_on)
        except Exception as error:  # noqa: BLE001 - no descriptor, no thread, no memory: the next call tries again
            return f"{type(error).__name__}: {error}"
        return ""


def _raise(fault: Fault) -> Message | None:
    raise fault


def _size(line: bytes | Fault) -> int:
    return len(line) if isinstance(line, bytes) else 0
