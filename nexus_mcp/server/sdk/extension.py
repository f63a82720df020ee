"""Serve the methods of the skills extension through the SDK, which has only the methods of the protocol itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types

from nexus_mcp.server.faults import invalid_params, method_not_found
from nexus_mcp.server.methods import MODERN_VERSION, SKILL_METHODS, fits, modern_shape
from nexus_mcp.server.protocol import cache_hints
from nexus_mcp.server.sdk.subscribing import as_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import CallNext, ServerRequestContext
    from mcp.server.lowlevel import Server

    Context = ServerRequestContext[Any]
    Read = Callable[[Context, types.RequestParams], Awaitable[dict[str, Any]]]


def add_skills(server: Server[Any], read: Read) -> None:
    """Register `read` for the methods of the extension, in 2026-07-28 only."""

    async def handle(context: Context, params: types.RequestParams) -> dict[str, Any]:
        return {**cache_hints(context.method), **await read(context, params)}

    for method in SKILL_METHODS:
        server.add_request_handler(method, types.RequestParams, handle)
    server.middleware.append(_check)


def _check(ctx: Context, call_next: CallNext) -> Any:
    """Check a request of the extension as the SDK checks its own methods: first the revision, then the params.

    Raise MCPError. Return the awaitable of the next step without awaiting it, because nothing is to be done afterwards.
    """
    if ctx.method in SKILL_METHODS and ctx.request_id is not None:
        if ctx.protocol_version != MODERN_VERSION:
            raise as_error(method_not_found(None, ctx.method))
        if not fits(modern_shape(ctx.method), dict(ctx.params or {})):
            raise as_error(invalid_params(None))
    return call_next(ctx)
