"""What a transport knows of the request that the SDK hands to a handler: its caller, session and unwritten answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from nexus_mcp.server.app import Answer

KEY = "nexus_mcp.exchange"
"""The name under which an ASGI scope's state has the exchange."""


class Exchange:
    """One HTTP request and its response. `actor` is the name of the token, `holder` is whose idempotency keys it has;
    `session` is None without a session; `method` is that of the client's message, "" for none.

    The answers whose response was not written yet are in `answers`. After `close` no answer can be written.
    """

    def __init__(self, actor: str, session: str | None, *, holder: str = "", method: str = "") -> None:
        self.actor = actor
        self.holder = holder
        self.method = method
        self.session = session
        self.answers: list[Answer] = []
        self.is_closed = False

    def close(self) -> list[Answer]:
        """Take no more answers, and return the ones that wait."""
        self.is_closed = True
        waiting, self.answers = self.answers, []
        return waiting


def exchange_of(context: ServerRequestContext[Any]) -> Exchange | None:
    """Return the exchange of a request over HTTP, None on stdio."""
    if context.request is None:
        return None
    found: Exchange | None = context.request.scope.get("state", {}).get(KEY)
    return found


def names_of(context: ServerRequestContext[Any]) -> tuple[str, str]:
    """Return (the name that the client gives itself, the name of its token); "" for each that is missing."""
    client = context.session.client_params
    exchange = exchange_of(context)
    return (client.client_info.name if client else "", exchange.actor if exchange else "")
