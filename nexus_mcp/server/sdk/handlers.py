"""Register the handlers of the SDK's server. Tool calls and read requests run one at a time, in arrival order.

On stdio the turn of a call ends when its response was written or dropped. All other turns end when the result exists.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from nexus_mcp import log, progress
from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.faults import Fault, check_cursor
from nexus_mcp.server.methods import MODERN_VERSION
from nexus_mcp.server.protocol import CACHE, CAPABILITIES
from nexus_mcp.server.sdk.calls import Calls
from nexus_mcp.server.sdk.exchange import caller_of
from nexus_mcp.server.sdk.extension import add_skills
from nexus_mcp.server.sdk.measuring import observe
from nexus_mcp.server.sdk.reporting import reporting
from nexus_mcp.server.sdk.subscribing import Subscribing, as_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nexus_mcp.server.app import Answer, App
    from nexus_mcp.server.observing import Observer
    from nexus_mcp.server.stopping import Stop

Id = str | int
Context = ServerRequestContext[Any]

PARAMS: dict[str, type[types.RequestParams]] = {
    "completion/complete": types.CompleteRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
}


class Turns:
    """A queue of turns. With `at_once` a turn ends when its answer exists, for transports that do not report written
    responses.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self.observers: tuple[Observer, ...] = ()
        self._turn = anyio.Semaphore(1)
        self._unwritten: dict[Id, list[Answer]] = defaultdict(list)

    async def begin(self) -> None:
        """Wait for a turn; it ends with `give_up`, or with `answer` and `settle`."""
        if self._turn.value:
            self._turn.acquire_nowait()  # acquire() would pass through the event loop
            return
        began = time.perf_counter()
        await self._turn.acquire()
        for observer in self.observers:
            observer.turn_waited(time.perf_counter() - began)

    def give_up(self) -> None:
        """End a turn without waiting for a response to be written."""
        self._turn.release()

    def answer(self, context: Context, answer: Answer) -> None:
        """Record that the SDK writes this answer next; with `at_once`, end its turn."""
        id = context.request_id
        assert id is not None
        self._unwritten[id].append(answer)
        if self._at_once:
            self.settle(id, delivered=True)

    def settle(self, id: Id, *, delivered: bool) -> None:
        """Report to the answer of a response whether the response was written (`confirm_delivery`), and end its turn.

        Ids of other requests are ignored.
        """
        answers = self._unwritten.get(id)
        if not answers:
            return
        answer = answers.pop(0)
        if not answers:
            del self._unwritten[id]
        if delivered:
            answer.confirm_delivery()
        else:
            answer.drop_delivery()
        self._turn.release()

    def end(self) -> None:
        """Drop all answers that were not written."""
        for id in list(self._unwritten):
            while id in self._unwritten:
                self.settle(id, delivered=False)


class NexusServer(Server[Any]):
    """The SDK's server, with our server info. `subscribing` holds the open subscriptions.

    Without `has_sessions` it offers subscriptions only through subscriptions/listen, which needs no session.
    """

    def __init__(self, app: App, *, has_sessions: bool = True) -> None:
        info = app.server_info
        self._has_sessions = has_sessions
        self.subscribing = Subscribing(app)
        hints: dict[Any, CacheHint] = {
            name: CacheHint(ttl_ms=ttl, scope=scope)
            for name, (ttl, scope) in CACHE.items()
            if name in CACHEABLE_METHODS
        }
        super().__init__(
            info["name"],
            version=info["version"],
            title=info["title"],
            instructions=app.instructions,
            cache_hints=hints,
            lifespan=self.subscribing.lifespan,
        )

    def get_capabilities(self, *_: Any, protocol_version: str | None = None, **__: Any) -> types.ServerCapabilities:
        """Return our table of capabilities, because the SDK does not know which lists never change."""
        is_modern = protocol_version == MODERN_VERSION
        found = types.ServerCapabilities.model_validate(CAPABILITIES[is_modern])
        if found.resources is not None and not (is_modern or self._has_sessions):
            found.resources.subscribe = False
        return found


def build_server(
    app: App,
    turns: Turns | None = None,
    stop: Stop | None = None,
    *,
    has_sessions: bool = True,
    observers: Collection[Observer] = (),
) -> NexusServer:
    """Return the SDK's server for the app.

    If `turns` is a plain Turns, the transport calls `settle` for each response, and the next call waits for that.
    Without `turns` every answer counts as written at once. No call or read request begins once `stop` is due. The
    transport calls `subscribing.end` before it closes the SDK's input, to answer the open listen requests. The
    `observers` see every request.
    """
    server = NexusServer(app, has_sessions=has_sessions)
    turns = turns or Turns(at_once=True)
    observe(server, app, turns, tuple(observers))
    tools, readers, subscribing = _Tools(app, turns, stop), ReadHandlers(app, turns, stop), server.subscribing
    server.get_tool_input_schema = tools.input_schema  # otherwise the SDK lists all tools for each call
    server.add_request_handler("tools/list", types.PaginatedRequestParams, tools.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call)
    for method, params in PARAMS.items():
        server.add_request_handler(method, params, readers.read)
    add_skills(server, readers.read)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribing.subscribe)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, subscribing.unsubscribe)
    server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, subscribing.listen)
    return server


class _Tools:
    def __init__(self, app: App, turns: Turns, stop: Stop | None) -> None:
        self._app = app
        self._calls = Calls(app)
        self._turns = turns
        self._stop = stop

    async def list_tools(self, _context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        try:
            check_cursor(params.cursor)
        except Fault as fault:
            raise MCPError(fault.code, fault.message) from None
        return {"resultType": "complete", "tools": self._app.tools()}

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of a tool, None if there is no such tool."""
        return next((tool["inputSchema"] for tool in self._app.tools() if tool["name"] == name), None)

    async def call(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        async with reporting(context) as enter:
            await self._turns.begin()
            try:
                answer = await self._run(context, params, enter)
                result = {"resultType": "complete", **answer.result}
            except BaseException:
                self._turns.give_up()
                raise
        self._turns.answer(context, answer)
        return result

    async def _run(
        self, context: Context, params: types.CallToolRequestParams, enter: Callable[[str], None] | None
    ) -> Answer:
        tool, arguments, meta = params.name, params.arguments, (context.params or {}).get("_meta")
        client, actor, holder = caller_of(context)
        caller = {"client_name": client, "actor": actor, "meta": meta, "holder": holder}
        answers: list[Answer] = []  # filled even if the call is cancelled: the thread finishes first
        try:
            if self._stop is not None and self._stop.is_due():
                raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
            if not self._calls.run_here(answers, tool, arguments, caller):
                await self._calls.run_in_thread(answers, tool, arguments, caller, enter)
            await anyio.lowlevel.checkpoint_if_cancelled()  # if cancelled meanwhile, the SDK writes no answer
        except MCPError:
            raise
        except UnknownTool as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except Exception as error:  # noqa: BLE001 - a defect in one call must not end the others
            log.error(f"{tool}: {type(error).__name__}: {error}")
            raise MCPError(types.INTERNAL_ERROR, "Internal server error") from None
        except BaseException:
            for answer in answers:
                answer.drop_delivery()
            raise
        return answers[0]


class ReadHandlers:
    """Handlers of read requests. Each waits for its turn, so that it sees the changes of earlier calls."""

    def __init__(self, app: App, turns: Turns, stop: Stop | None) -> None:
        self._app = app
        self._turns = turns
        self._stop = stop

    async def read(self, context: Context, _params: types.RequestParams) -> dict[str, Any]:
        name, *_ = caller_of(context)
        modern = context.protocol_version == MODERN_VERSION
        params = dict(context.params or {})
        async with reporting(context) as enter:

            def run() -> dict[str, Any]:
                with progress.listening(enter):
                    return self._app.read(context.method, params, name, modern=modern).result

            await self._turns.begin()
            try:
                if self._stop is not None and self._stop.is_due():
                    raise MCPError(types.CONNECTION_CLOSED, "Connection closed")
                shown = await anyio.to_thread.run_sync(run)
            except MCPError:
                raise
            except Fault as fault:
                raise as_error(fault) from None
            except Exception as error:  # noqa: BLE001 - a defect in one request must not end the others
                log.error(f"{context.method}: {type(error).__name__}: {error}")
                raise MCPError(types.INTERNAL_ERROR, "Internal server error") from None
            finally:
                self._turns.give_up()
        return {"resultType": "complete", **shown}
