"""Pass the caller, the session and the unwritten answers of an HTTP request through the SDK to its handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from nexus_mcp.server.app import Answer

KEY = "nexus_mcp.exchange"
"""The key of the exchange in the state of an ASGI scope."""


class Exchange:
    """One HTTP request and its response. `actor` is the name of the token, `holder` the holder of the token's
    idempotency keys; `session` is None without a session; `method` is the method of the client's message, "" without a
    message.

    `answers` has the answers with a receipt whose response was not written yet. After `close` no answer may be added.
    """

    def __init__(self, actor: str, session: str | None, *, holder: str = "", method: str = "") -> None:
        self.actor = actor
        self.holder = holder
        self.method = method
        self.session = session
        self.answers: list[Answer] = []
        self.is_closed = False

    def close(self) -> list[Answer]:
        """Mark the exchange as closed, and return the unwritten answers."""
        self.is_closed = True
        waiting, self.answers = self.answers, []
        return waiting


def exchange_of(context: ServerRequestContext[Any]) -> Exchange | None:
    """Return the exchange of a request over HTTP, None on stdio."""
    if context.request is None:
        return None
    found: Exchange | None = context.request.scope.get("state", {}).get(KEY)
    return found


def caller_of(context: ServerRequestContext[Any]) -> tuple[str, str, str]:
    """Return (the client's own name, the name of its token, the holder of its keys); "" for a missing one."""
    client = context.session.client_params
    exchange = exchange_of(context)
    name = client.client_info.name if client else ""
    return (name, exchange.actor, exchange.holder) if exchange else (name, "", "")
