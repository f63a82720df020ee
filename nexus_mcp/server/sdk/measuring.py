"""Observe each request of the SDK's server in a middleware."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Protocol

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from nexus_mcp import log
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS
from nexus_mcp.server.methods import HANDLED
from nexus_mcp.server.observing import CANCELLED, TOOL_ERROR, UNKNOWN, Cycles, Operation
from nexus_mcp.server.sdk.exchange import exchange_of
from nexus_mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from nexus_mcp.server.app import App
    from nexus_mcp.server.observing import Observer

    Context = ServerRequestContext[Any]

    class Observable(Protocol):
        """An object that reports its waits to observers."""

        observers: tuple[Observer, ...]


_LONGEST = 200
"""The maximum number of characters of a text from a client."""
_LONGEST_STATE = 512
"""The maximum number of characters of a trace state: W3C does not require a longer one to be passed on."""


class Measuring:
    """A middleware that reports each request to the observers and changes nothing.

    `prefix` is that of the tool names. Reported names have no prefix, so that servers can be compared.
    """

    def __init__(self, observers: Collection[Observer], prefix: str) -> None:
        self._observers = tuple(observers)
        self._tools = {prefix + tool.name: tool.name for tool in TOOLS}
        self._cycles = Cycles()

    async def __call__(self, ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
        exchange = exchange_of(ctx)
        # Over HTTP the SDK may itself call a handler such as tools/list: that is no request of a client.
        if ctx.request_id is None or (exchange is not None and exchange.method not in ("", ctx.method)):
            return await call_next(ctx)
        operation = self._operation(ctx)
        began = time.perf_counter()
        try:
            result = await call_next(ctx)
            self._judge(operation, result)
            return result
        except MCPError as error:
            operation.fail(error.error.code, error.error.message)
            raise
        except ValidationError:
            operation.fail(INVALID_PARAMS, "Invalid request parameters")
            raise
        except asyncio.CancelledError:
            operation.outcome = CANCELLED
            raise
        except Exception as error:
            operation.fail(INTERNAL_ERROR, type(error).__name__)
            raise
        finally:
            operation.seconds = time.perf_counter() - began
            self._tell(operation)

    def _tell(self, operation: Operation) -> None:
        try:
            for observer in self._observers:
                observer.operation_ended(operation)
        except Exception as error:  # noqa: BLE001 - the request itself has its result
            log.error(f"a request could not be counted: {type(error).__name__}: {error}")

    def _operation(self, context: Context) -> Operation:
        method, params = context.method, context.params or {}
        exchange = exchange_of(context)
        operation = Operation(
            method if method in HANDLED else UNKNOWN,
            version=context.protocol_version,
            session=(exchange.session or "") if exchange else "",
            request_id=str(context.request_id)[:_LONGEST],
            parent=_parent(params),
            begun_ns=time.time_ns(),
        )
        name, uri = params.get("name"), params.get("uri")
        if method == "tools/call":
            operation.tool = self._tools.get(name, UNKNOWN) if isinstance(name, str) else UNKNOWN
        elif method == "prompts/get" and isinstance(name, str):
            operation.prompt = name[:_LONGEST]
        elif isinstance(uri, str):
            operation.uri = uri[:_LONGEST]
        return operation

    def _judge(self, operation: Operation, result: Any) -> None:
        if not operation.tool or not isinstance(result, dict):
            return
        if result.get("isError") is True:
            operation.outcome = TOOL_ERROR
        elif isinstance(structured := result.get("structuredContent"), dict):
            self._cycles.judge(operation, structured)


def _parent(params: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the texts traceparent and, if usable, tracestate of a request's `_meta`; None without a traceparent."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or not isinstance(parent := meta.get("traceparent"), str):
        return None
    found = {"traceparent": parent[:_LONGEST]}
    if isinstance(state := meta.get("tracestate"), str) and len(state) <= _LONGEST_STATE:
        found["tracestate"] = state
    return found


def observe(server: Server[Any], app: App, turns: Observable, observers: tuple[Observer, ...]) -> None:
    """Report the requests and waits of a server to the observers.

    The SDK's own middleware is removed in any case: it makes spans for a global tracer, which the server does not set.
    """
    server.middleware[:] = [Measuring(observers, app.prefix)] if observers else []
    turns.observers = observers
    if observers:

        def report_wait(seconds: float, is_taken: bool) -> None:  # noqa: FBT001 - called by the store
            for observer in observers:
                observer.lock_waited(seconds, is_taken=is_taken)

        app.observe_waits(report_wait)
