"""Manage the open subscriptions to a project: Streams for all transports, Subscriptions for our own loop (stdio.py).

A subscription names URIs and lists; the files below .nexus on which they depend are polled.
"""

from __future__ import annotations

import os
import threading

from nexus_mcp import log
from nexus_mcp.server.call_queue import correlation_key
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS, Fault, id_in_use
from nexus_mcp.server.methods import META
from nexus_mcp.server.resources import requests
from nexus_mcp.server.resources.definition import ResourceRefused, check_name
from nexus_mcp.store.poller import EACH, NAMES, PAUSE, Poller

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Params = dict[str, Any]
    Event = tuple[str, Params]
    Deliver = Callable[[str, Params], object]
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.pipes import Sink
    from nexus_mcp.server.protocol import SubscriptionRequest
    from nexus_mcp.workspace import Workspace

_OF_THE_STATE = ("state/", "history.json")
UPDATED = "notifications/resources/updated"
LISTS = {
    "resourcesListChanged": "notifications/resources/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
}
"""The notifications about lists that can change while a server runs, by the list's name in a filter of 2026-07-28. The
list of tools cannot change.
"""
_LISTED = ("memory", "context", "rules", "agents", "skills", "state/artifacts")
_PATHS = {
    "resourcesListChanged": (*(f"{folder}{NAMES}" for folder in _LISTED), f"state/runs/run.json{EACH}"),
    "promptsListChanged": (f"skills{NAMES}", "skills/"),
}
_TRUE = frozenset({"1", "t", "y", "yes", "on", "true"})


def of_uri(uri: str) -> tuple[str, ...]:
    """Return the paths to poll for a resource, whether they exist or not. Raise Fault, as resources/read does before
    2026-07-28.
    """
    resource, values = requests.resolve(uri, modern=False)
    paths = resource.watched(values)
    try:
        for path in paths:
            check_name(path.rstrip("/"))
    except ResourceRefused as error:
        raise Fault(INVALID_PARAMS, f"Not a usable URI: {error}.", data={"uri": uri}) from None
    return paths


def supported_filter(requested: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a filter that this server supports: its own URIs, each once, and the lists in LISTS."""
    granted: dict[str, Any] = {name: True for name in LISTS if _is_true(requested.get(name))}
    uris = list(dict.fromkeys(uri for uri in requested.get("resourceSubscriptions") or () if _is_ours(uri)))
    return {**granted, "resourceSubscriptions": uris} if uris else granted


def _is_ours(uri: str) -> bool:
    try:
        return bool(of_uri(uri))
    except Fault:
        return False


def _is_true(value: Any) -> bool:
    """Interpret a boolean as the check of params does (server/methods.py)."""
    return value.lower() in _TRUE if isinstance(value, str) else bool(value)


MOST_URIS = 1024
"""Limit of the sum of URIs in all subscriptions of one owner."""
MOST_STREAMS = 64
"""Limit of the open subscriptions/listen requests of one owner."""


class Stream:
    """One subscription. `wanted` has its notifications by path; `deliver` gets (method, params) of each notification.

    `uris` counts the resources; `listens` is true for a request that stays open. Delivery starts with `begin`, after
    the acknowledgement; changes before that are kept in `late`. The limits apply to the `owner`: the connection,
    session or token.
    """

    __slots__ = ("begun", "deliver", "late", "listens", "owner", "uris", "wanted")

    def __init__(
        self, wanted: dict[str, list[Event]], uris: int, deliver: Deliver, *, listens: bool, owner: str
    ) -> None:
        self.owner = owner
        self.wanted = wanted
        self.uris = uris
        self.deliver = deliver
        self.listens = listens
        self.begun = False
        self.late: set[str] = set()


def _places_of(workspace: Workspace) -> Callable[[str], str]:
    """Return a function that maps a path below `.nexus` to the `.nexus` folder that contains it: state and history may
    be in the main worktree.
    """
    own, shared = (os.path.join(root, ".nexus") for root in (workspace.root, workspace.state_root))
    return lambda path: shared if path.startswith(_OF_THE_STATE) else own


class Streams:
    """The subscriptions to a project, of one or several owners. One thread at a time calls the methods; any thread may
    call `end` at any time. The poller's thread delivers.
    """

    def __init__(self, workspace: Workspace, pause: float = PAUSE) -> None:
        self._lock = threading.Lock()
        self._open: list[Stream] = []
        self._by_uri: dict[tuple[str, str], Stream] = {}
        self._poller = Poller(_places_of(workspace), self._notify_changed, pause)

    def subscribe(self, uri: str, deliver: Deliver, owner: str = "") -> None:
        """Notify of changes of this resource until `unsubscribe` (handshake revisions). Idempotent. Raise Fault."""
        paths = of_uri(uri)
        if (owner, uri) in self._by_uri:
            return
        wanted = {path: [(UPDATED, {"uri": uri})] for path in paths}
        stream = Stream(wanted, 1, deliver, listens=False, owner=owner)
        self._admit(stream)
        self._by_uri[owner, uri] = stream
        self.begin(stream)

    def unsubscribe(self, uri: str, owner: str = "") -> None:
        """End the owner's subscription to this resource, if there is one."""
        stream = self._by_uri.pop((owner, uri), None)
        if stream is not None:
            self.close(stream)

    def unsubscribe_all(self, owner: str) -> None:
        """End all subscriptions that the owner made with `subscribe`."""
        for uri in [uri for name, uri in self._by_uri if name == owner]:
            self.unsubscribe(uri, owner)

    def open(self, requested: Params, meta: Params, deliver: Deliver, owner: str = "") -> tuple[Stream, Params]:
        """Return (a stream that has not begun, the filter to acknowledge), for 2026-07-28. Raise Fault.

        `meta` is the `_meta` of every notification.
        """
        if len(requested.get("resourceSubscriptions") or ()) > MOST_URIS:  # too many to check each
            raise _limit()
        granted = supported_filter(requested)
        uris = granted.get("resourceSubscriptions", ())
        wanted: dict[str, list[Event]] = {}
        for uri in uris:
            for path in of_uri(uri):
                wanted.setdefault(path, []).append((UPDATED, {"uri": uri, "_meta": meta}))
        for name in (name for name in LISTS if name in granted):
            for path in _PATHS[name]:
                wanted.setdefault(path, []).append((LISTS[name], {"_meta": meta}))
        stream = Stream(wanted, len(uris), deliver, listens=True, owner=owner)
        self._admit(stream)
        return stream, granted

    def begin(self, stream: Stream) -> None:
        """Deliver from now on, also the changes in `late`."""
        with self._lock:
            stream.begun = True
            late = bool(stream.late)
        if late:
            self._poller.call()

    def close(self, stream: Stream) -> None:
        """Deliver nothing more, except a notification under way. Idempotent."""
        with self._lock:
            if stream not in self._open:
                return
            self._open.remove(stream)
        self._poller.remove(stream.wanted)

    def end(self) -> None:
        """Deliver the changes up to now, and nothing afterwards."""
        self._poller.end()

    def _admit(self, stream: Stream) -> None:
        """Add a stream and poll its paths. Raise Fault beyond the limits, or if the poller cannot start."""
        with self._lock:
            same = [one for one in self._open if one.owner == stream.owner]
            uris = stream.uris + sum(one.uris for one in same)
            listening = stream.listens + sum(one.listens for one in same)
            if uris > MOST_URIS or listening > MOST_STREAMS:
                raise _limit()
            self._open.append(stream)
        try:
            self._poller.add(stream.wanted)
        except (RuntimeError, OSError, MemoryError) as error:
            self.close(stream)
            raise Fault(INTERNAL_ERROR, f"Nothing can be watched now: {error}") from None

    def _notify_changed(self, changed: set[str]) -> None:
        with self._lock:
            due: list[tuple[Stream, set[str]]] = []
            for stream in self._open:
                mine = changed & stream.wanted.keys()
                if stream.begun:
                    due.append((stream, mine | stream.late))
                    stream.late = set()
                else:
                    stream.late |= mine
        for stream, paths in due:
            events: dict[tuple[str, str], Event] = {}
            for path in stream.wanted:  # the stream's own order; each event once
                if path in paths:
                    events.update(
                        ((method, str(params.get("uri"))), (method, params)) for method, params in stream.wanted[path]
                    )
            for method, params in events.values():
                self._deliver(stream, method, params)

    def _deliver(self, stream: Stream, method: str, params: Params) -> None:
        with self._lock:
            if stream not in self._open:
                return
        try:
            stream.deliver(method, params)
        except Exception as error:  # noqa: BLE001 - a failing subscriber must not stop the others
            log.warning(f"a notification could not be delivered: {type(error).__name__}: {error}")


def _limit() -> Fault:
    detail = f"{MOST_STREAMS} streams and {MOST_URIS} resources may be open; end one, then ask again"
    return Fault(INTERNAL_ERROR, f"Subscription limit reached: {detail}")


ID_KEY = f"{META}subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Subscriptions:
    """Subscription requests of our own loop. The thread that reads calls the methods; the poller's thread sends the
    notifications of changes.
    """

    def __init__(self, workspace: Workspace, sink: Sink) -> None:
        self._sink = sink
        self._streams = Streams(workspace)
        self._listening: list[tuple[SubscriptionRequest, Stream]] = []

    def take(self, request: SubscriptionRequest) -> dict[str, Any] | None:
        """Return the result of a request; None for an acknowledged one that stays open. Raise Fault."""
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
        stream, granted = self._streams.open(params["notifications"], meta, self._notify)
        self._listening.append((request, stream))
        try:
            self._notify(ACKNOWLEDGED, {"notifications": granted, "_meta": meta})
            self._streams.begin(stream)
        except Exception:
            self.cancel(request.id)  # the request gets an error response, and must not get a second one
            raise
        return None

    def cancel(self, id: Id) -> None:
        """End the open request with this id without a response. Unknown ids are ignored."""
        key = correlation_key(id)
        for entry in self._listening:
            if correlation_key(entry[0].id) == key:
                self._listening.remove(entry)
                self._streams.close(entry[1])
                return

    def finish(self) -> None:
        """Deliver the changes up to now and send the results of the open requests, as the protocol requires."""
        self._streams.end()
        for request, _ in self._listening:
            result = request.result({"_meta": {ID_KEY: request.id}})
            self._sink.send({"jsonrpc": "2.0", "id": request.id, "result": result})

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._sink.send({"jsonrpc": "2.0", "method": method, "params": params})
