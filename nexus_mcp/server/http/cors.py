"""Let web pages of the origins of `--allow-origin` call the server: answer preflights, and add the headers of CORS.

A browser sends a preflight before a request with a token or JSON. Besides some standard headers, it shows a page only
the headers that the server exposes. A preflight has no token. It is answered before Host is checked, because the answer
says only how pages of an allowed origin may call. A request of any other origin is passed on to the guard, which
refuses the request unless the origin is the server's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Receive, Scope, Send

_METHODS = ("GET", "POST", "DELETE")
_EXPOSED = ("Mcp-Session-Id", "Retry-After", "WWW-Authenticate")
_KEEP_S = 600
"""Seconds for which a browser keeps the answer to a preflight."""


def with_cors(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Return the application for pages of `origins`, which are in lower case. Without origins it is `app` itself.

    A page may send any header: those of MCP begin with Mcp-, and the newest revision lets tools name some of them.
    """
    if not origins:
        return app
    return _Pages(
        app,
        allow_origins=origins,
        allow_methods=_METHODS,
        allow_headers=("*",),
        allow_private_network=True,
        expose_headers=_EXPOSED,
        max_age=_KEEP_S,
    )


class _Pages(CORSMiddleware):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origins = Headers(scope=scope).getlist("origin")
        is_page = len(origins) == 1 and self.is_allowed_origin(origins[0])
        await (super().__call__ if is_page else self.app)(scope, receive, send)
