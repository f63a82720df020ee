"""Accepted requests that the reading thread does not answer by itself, beside the calls of tools (protocol.Call)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.app import App, Shown
    from nexus_mcp.server.messages import Message
    from nexus_mcp.server.protocol import Result


class Lookup:
    """A request that looks at files: to be run in turn with the calls, so that it sees what those before it did."""

    __slots__ = ("_is_modern", "client_name", "id", "name", "params", "result")

    def __init__(self, message: Message, client_name: str, result: Result, *, is_modern: bool) -> None:
        self.id = message.id
        self.name = message.method
        self.params = message.params or {}
        self.client_name = client_name
        self.result = result
        self._is_modern = is_modern

    def run(self, app: App) -> Shown:
        """Raises Fault, without an id."""
        return app.look(self.name, self.params, self.client_name, modern=self._is_modern)


class Subscription:
    """A request about subscriptions: for whoever can send notifications."""

    __slots__ = ("id", "method", "params", "result")

    def __init__(self, message: Message, result: Result) -> None:
        self.id = message.id
        self.method = message.method
        self.params = message.params or {}
        self.result = result
