"""The tool table as handlers of the SDK's low-level server, whatever the transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from nexus_mcp import log
from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.faults import Fault
from nexus_mcp.server.methods import MODERN_VERSION
from nexus_mcp.server.protocol import CACHE, CAPABILITIES, check_cursor
from nexus_mcp.server.sdk.looking import PARAMS, Looking
from nexus_mcp.server.sdk.subscribing import Subscribing
from nexus_mcp.server.sdk.turns import Turns

if TYPE_CHECKING:
    from nexus_mcp.server.app import Answer, App
    from nexus_mcp.server.stopping import Stop

Context = ServerRequestContext[Any]


class NexusServer(Server[Any]):
    """The SDK's server of one connection, with what this one says of itself. `subscribing` has what stays open."""

    def __init__(self, app: App) -> None:
        info = app.server_info
        self.subscribing = Subscribing(app)
        hints: dict[Any, CacheHint] = {name: CacheHint(ttl_ms=ttl, scope=scope) for name, (ttl, scope) in CACHE.items()}
        super().__init__(
            info["name"],
            version=info["version"],
            title=info["title"],
            instructions=app.instructions,
            cache_hints=hints,
            lifespan=self.subscribing.lifespan,
        )

    def get_capabilities(self, *_: Any, protocol_version: str | None = None, **__: Any) -> types.ServerCapabilities:
        """Said by the table, not derived from what is registered: that some lists never change it cannot know."""
        return types.ServerCapabilities.model_validate(CAPABILITIES[protocol_version == MODERN_VERSION])


def build_server(app: App, turns: Turns | None = None, stop: Stop | None = None) -> NexusServer:
    """The SDK's server over the app.

    The transport settles each answer in `turns`, and the next call waits for that; without `turns` every answer
    counts as written. Once `stop` is due no call is begun. Before its input ends, the transport lets
    `subscribing.end` answer what stays open.
    """
    server = NexusServer(app)
    turns = turns or Turns(at_once=True)
    tools, looking, subscribing = _Tools(app, turns, stop), Looking(app, turns, stop), server.subscribing
    server.add_request_handler("tools/list", types.PaginatedRequestParams, tools.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, tools.call)
    for method, params in PARAMS.items():
        server.add_request_handler(method, params, looking.look)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribing.subscribe)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, subscribing.unsubscribe)
    server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, subscribing.listen)
    return server


class _Tools:
    def __init__(self, app: App, turns: Turns, stop: Stop | None) -> None:
        self._app = app
        self._turns = turns
        self._stop = stop

    async def list_tools(self, _context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        try:
            check_cursor(params.cursor)
        except Fault as fault:
            raise MCPError(fault.code, fault.message) from None
        return {"resultType": "complete", "tools": self._app.tools()}

    async def call(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        client = context.session.client_params
        name = client.client_info.name if client else ""
        assert context.request_id is not None
        await self._turns.begin()
        try:
            answer = await self._run(params.name, params.arguments, name)
            result = {"resultType": "complete", **answer.result}
        except BaseException:
            self._turns.give_up()
            raise
        self._turns.answer(context.request_id, answer)
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
