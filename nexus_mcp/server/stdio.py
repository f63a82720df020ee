"""MCP on standard input and output, without the SDK: what a harness waits for at start is here and little else.

One thread reads, answers whatever needs no file, and carries out tool calls and looks at files in arrival order. While
it is at one, a second thread reads, started by the first of them or once the tools were listed; a third is there while
somebody subscribes to something. docs/wire.md tells what happens to every kind of line.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock

from nexus_mcp import log
from nexus_mcp.server.ends import serve_between
from nexus_mcp.server.faults import Fault, internal_error
from nexus_mcp.server.framing import Lines
from nexus_mcp.server.messages import parse, recovered
from nexus_mcp.server.protocol import Call, Connection
from nexus_mcp.server.stopping import STOPPING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.app import App
    from nexus_mcp.server.asked import Lookup, Subscription
    from nexus_mcp.server.calls import Calls
    from nexus_mcp.server.messages import Message
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.stopping import Stop
    from nexus_mcp.server.subscriptions.connection import Subscriptions

_OPENING = ("initialize", "server/discover")


def serve(app: App, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve one connection until its input ends, the client goes away or a signal comes. Returns the exit code, 0."""
    return serve_between(lambda source, sink, stop: _Session(app, source, sink, stop).run(), stdin_fd, stdout_fd)


class _Session:
    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop) -> None:
        self._app = app
        self._source = source
        self._sink = sink
        self._stop = stop
        self._lines = Lines(source)
        self._reading = Lock()  # whoever has it has the lines, the connection and the subscriptions
        self._connection = Connection(app)
        self._calls: Calls | None = None
        # What is to be made ready, before it is needed, once nothing is at hand.
        self._ahead: Callable[[], None] | None = None
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
                self._stop.request()  # all is answered: nobody who takes no notifications holds up the end
                self._subscriptions.finish()

    def _begin(self) -> bool:
        """Read until a call has begun, which is to be carried out then. False when there will be none any more."""
        while not self._stop.requested:
            calls = self._calls
            if calls is not None and calls.are_read_aside:
                if self._ahead is None:
                    return calls.wait()
            else:
                with self._reading:
                    if self._begin_of_lines():
                        return True
                    if self._lines.ended:
                        return False
                    if self._ahead is None or self._source.is_ready():
                        self._lines.read()
                        continue
            ahead, self._ahead = self._ahead, None
            ahead()
        return False

    def _begin_of_lines(self) -> bool:
        self._look()
        if self._calls is None or not self._calls.begin():
            return False
        self._look()  # there is room for one more
        return not self._stop.requested

    def _load(self) -> None:
        """Load what every call needs, while the client reads the answer that it began with."""
        with suppress(Exception):  # whoever calls is told, if it still is so
            from nexus_mcp.server import calls, rendered  # noqa: F401

    def _warm_up(self) -> None:
        if self._calls is not None and not (self._calls.warm_up() or self._calls.are_read_aside):
            self._ahead = self._warm_up  # what came first is answered by then
            return
        with suppress(Exception):  # once descriptors are used up nothing can be loaded to tell whose request failed
            from nexus_mcp.server import asked, recover  # noqa: F401

    def _read_on(self, *, constantly: bool) -> bool:
        """Read, on a thread of its own, while a call is carried out. False when there is nothing to be read by it."""
        if constantly:
            with self._reading:
                self._look(patiently=True)
                if self._lines.ended:
                    return False
                self._lines.read()
                return True
        if not self._reading.acquire(blocking=False):
            return False  # the call is over
        try:
            if not self._look() or self._lines.ended:
                return False
            if self._source.is_ready():
                self._lines.read()
            return self._look() and not self._lines.ended
        finally:
            self._reading.release()

    def _look(self, *, patiently: bool = False) -> bool:
        """Take the lines at hand. False when there is no room for one of them, unless that is waited for."""
        while not self._stop.requested and (line := self._lines.at_hand()) is not None:
            if self._calls is not None and not self._calls.has_room(_size(line)):
                if not patiently:
                    self._lines.put_back(line)
                    return False
                self._calls.wait_for_room(_size(line))
            self._take(line)
        return True

    def _take(self, line: bytes | Fault) -> None:
        message: Message | None = None
        try:
            message = _raise(line) if isinstance(line, Fault) else parse(line)
            if message is None:
                return
            if not message.is_request:
                self._notify(message)
                return
            reply = self._connection.request(message)
            if isinstance(reply, Call):
                self._add(reply, _size(line))
            elif not isinstance(reply, dict):
                self._ask(reply, _size(line))
            else:
                self._sink.send({"jsonrpc": "2.0", "id": message.id, "result": reply})
                if self._calls is None:
                    self._get_ready(message.method)
        except Fault as fault:
            self._sink.send(fault.response())
        except Exception as error:  # noqa: BLE001 - a defect met by one line must not end the others
            log.error(f"a line could not be dealt with: {type(error).__name__}: {error}")
            if message is None:
                self._sink.send(internal_error(recovered(line) if isinstance(line, bytes) else None).response())
            elif message.is_request:  # a notification is never answered
                self._sink.send(internal_error(message.id).response())

    def _get_ready(self, answered: str) -> None:
        if answered in _OPENING:
            self._ahead = self._load
        elif answered == "tools/list":
            self._make_calls()  # whoever looks at the tools is going to call one
            self._ahead = self._warm_up

    def _notify(self, message: Message) -> None:
        if message.method == "notifications/cancelled":
            id = (message.params or {}).get("requestId")
            if isinstance(id, (str, int)) and not isinstance(id, bool):
                if self._calls is not None:
                    self._calls.cancel(id)
                if self._subscriptions is not None:
                    self._subscriptions.cancel(id)
        self._connection.notify(message)

    def _ask(self, asked: Lookup | Subscription, size: int) -> None:
        """Raises Fault."""
        from nexus_mcp.server.asked import Lookup

        if isinstance(asked, Lookup):
            self._add(asked, size)
        else:
            self._subscribe(asked)

    def _subscribe(self, request: Subscription) -> None:
        """Carry out a request about subscriptions, and answer it unless it stays open. Raises Fault."""
        if self._subscriptions is None:
            from nexus_mcp.server.subscriptions.connection import Subscriptions  # few clients subscribe

            self._subscriptions = Subscriptions(self._app.workspace.root, self._sink)
        try:
            result = self._subscriptions.take(request)
        except Fault as fault:
            raise fault.of(request.id) from None
        if result is not None:
            self._sink.send({"jsonrpc": "2.0", "id": request.id, "result": request.result(result)})

    def _add(self, call: Call | Lookup, size: int) -> None:
        trouble = self._make_calls() if self._calls is None else ""
        if self._calls is None:
            log.error(f"{call.name} cannot be carried out: {trouble}")
            self._sink.send(internal_error(call.id).response())
            return
        self._calls.add(call, size)

    def _make_calls(self) -> str:
        """Why there are none afterwards; "" when there are."""
        try:
            from nexus_mcp.server.calls import Calls  # not needed to answer initialize and tools/list

            self._calls = Calls(self._app, self._source, self._sink, self._stop, self._read_on)
        except Exception as error:  # noqa: BLE001 - no descriptor, no thread, no memory: the next call tries again
            return f"{type(error).__name__}: {error}"
        return ""


def _raise(fault: Fault) -> Message | None:
    raise fault


def _size(line: bytes | Fault) -> int:
    return len(line) if isinstance(line, bytes) else 0
