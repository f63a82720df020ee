"""The subscriptions of a connection that our own loop serves: their requests, and their notifications on its sink."""

from __future__ import annotations

from nexus_mcp.server.calls import correlation_key
from nexus_mcp.server.faults import id_in_use
from nexus_mcp.server.methods import META
from nexus_mcp.server.subscriptions.streams import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.asked import Subscription
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.pipes import Sink
    from nexus_mcp.server.subscriptions.streams import Stream

ID_KEY = f"{META}subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Subscriptions:
    """Used by the thread that reads; only the notifications come from another one."""

    def __init__(self, root: str, sink: Sink) -> None:
        self._sink = sink
        self._streams = Streams(root)
        self._listening: list[tuple[Subscription, Stream]] = []

    def take(self, request: Subscription) -> dict[str, Any] | None:
        """The result of a request; None for one that stays open and was acknowledged. Raises Fault."""
        params = request.params
        if request.method == "resources/subscribe":
            self._streams.subscribe(params["uri"], self._notify)
            return {}
        if request.method == "resources/unsubscribe":
            self._streams.unsubscribe(params["uri"])
            return {}
        key = correlation_key(request.id)
        if any(correlation_key(other.id) == key for other, _ in self._listening):
            raise id_in_use(request.id)
        meta = {ID_KEY: request.id}
        stream, kept = self._streams.open(params["notifications"], meta, self._notify)
        self._listening.append((request, stream))
        try:
            self._notify(ACKNOWLEDGED, {"notifications": kept, "_meta": meta})
            self._streams.begin(stream)
        except Exception:
            self.cancel(request.id)  # it is answered by an error, and then never again
            raise
        return None

    def cancel(self, id: Id) -> None:
        """End the request that stays open under this id, unanswered. Others are ignored."""
        key = correlation_key(id)
        for entry in self._listening:
            if correlation_key(entry[0].id) == key:
                self._listening.remove(entry)
                self._streams.close(entry[1])
                return

    def finish(self) -> None:
        """Tell what has changed by now, and answer the requests that are open: that is their proper end."""
        self._streams.end()
        for request, _ in self._listening:
            result = request.result({"_meta": {ID_KEY: request.id}})
            self._sink.send({"jsonrpc": "2.0", "id": request.id, "result": result})

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._sink.send({"jsonrpc": "2.0", "method": method, "params": params})
