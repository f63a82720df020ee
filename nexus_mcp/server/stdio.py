"""MCP on standard input and output, without the SDK: what a harness waits for at start is here and little else.

The main thread reads, and answers whatever needs no file. Tool calls, and looks at files, run in arrival order on a
second thread, started by the first of them or once the tools were listed; a third is there while somebody subscribes to
something. docs/wire.md tells what happens to every kind of line.
"""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.server.ends import serve_between
from nexus_mcp.server.faults import Fault, internal_error
from nexus_mcp.server.framing import Splitter
from nexus_mcp.server.messages import parse
from nexus_mcp.server.protocol import Call, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.server.app import App
    from nexus_mcp.server.asked import Lookup, Subscription
    from nexus_mcp.server.calls import Calls
    from nexus_mcp.server.messages import Message
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.stopping import Stop
    from nexus_mcp.server.subscriptions.connection import Subscriptions

STOPPING = "asked to stop: the call under way is finished, no other is begun"


def serve(app: App, stdin_fd: int = 0, stdout_fd: int = 1) -> int:
    """Serve one connection until its input ends, the client goes away or a signal comes. Returns the exit code, 0."""
    return serve_between(lambda source, sink, stop: _Session(app, source, sink, stop).run(), stdin_fd, stdout_fd)


class _Session:
    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop) -> None:
        self._app = app
        self._source = source
        self._sink = sink
        self._stop = stop
        self._connection = Connection(app)
        self._calls: Calls | None = None
        self._subscriptions: Subscriptions | None = None

    def run(self) -> None:
        try:
            for line in frames(self._source):
                if self._calls is not None:
                    self._calls.wait_for_room(_size(line))
                if self._stop.requested:
                    break
                self._take(line)
            if self._stop.requested:
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

    def _take(self, line: bytes | Fault) -> None:
        try:
            if isinstance(line, Fault):
                raise line
            message = parse(line)
            if message is None:
                return
            if not message.is_request:
                self._notify(message)
                return
            reply = self._connection.request(message)
            if not isinstance(reply, (dict, Call)):
                self._ask(reply, _size(line))
                return
        except Fault as fault:
            self._sink.send(fault.response())
            return
        except Exception as error:  # noqa: BLE001 - a defect met by one line must not end the others
            log.error(f"a line could not be dealt with: {type(error).__name__}: {error}")
            self._sink.send(internal_error(None).response())
            return
        if isinstance(reply, Call):
            self._add(reply, _size(line))
        else:
            self._sink.send({"jsonrpc": "2.0", "id": message.id, "result": reply})
            if message.method == "tools/list" and self._calls is None:
                self._make_calls(early=True)  # whoever looks at the tools is going to call one

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

    def _make_calls(self, *, early: bool = False) -> str:
        """Why there are none afterwards; "" when there are."""
        try:
            from nexus_mcp.server.calls import Calls  # not needed to answer initialize and tools/list

            self._calls = Calls(self._app, self._sink, self._stop, early=early)
        except (ImportError, OSError, RuntimeError) as error:  # no descriptor, no thread: the next call tries again
            return f"{type(error).__name__}: {error}"
        return ""


def _size(line: bytes | Fault) -> int:
    return len(line) if isinstance(line, bytes) else 0


def frames(source: Source) -> Iterator[bytes | Fault]:
    """The lines of the input. Input that ends within a line still gives that line; a wish to stop gives none."""
    splitter = Splitter()
    while chunk := source.read():
        yield from splitter.feed(chunk)
    if chunk is not None:
        yield from splitter.end()
