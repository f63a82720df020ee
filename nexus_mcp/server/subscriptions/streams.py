"""The open subscriptions of one connection, whatever the era and whoever writes the notifications out."""

from __future__ import annotations

import os
import threading

from nexus_mcp import log
from nexus_mcp.server.faults import INTERNAL_ERROR, Fault
from nexus_mcp.server.subscriptions import targets
from nexus_mcp.server.subscriptions.lookout import PAUSE, Lookout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Params = dict[str, Any]
    Event = tuple[str, Params]
    Deliver = Callable[[str, Params], object]

MOST_URIS = 1024
"""In all subscriptions of a connection together."""
MOST_STREAMS = 64
"""Requests of subscriptions/listen that are open at a time."""


class Stream:
    """What one subscriber wants to hear, `wanted` by path. `deliver` gets (method, params) of each notification.

    `uris` counts the resources; `listens` says whether it is a request that stays open. Nothing is delivered before it
    `begin`s: an acknowledgement goes first. What changes until then is told then.
    """

    __slots__ = ("begun", "deliver", "late", "listens", "uris", "wanted")

    def __init__(self, wanted: dict[str, list[Event]], uris: int, deliver: Deliver, *, listens: bool) -> None:
        self.wanted = wanted
        self.uris = uris
        self.deliver = deliver
        self.listens = listens
        self.begun = False
        self.late: set[str] = set()


class Streams:
    """Over the project at `root`. One thread asks for all of this; what is delivered comes from another."""

    def __init__(self, root: str, pause: float = PAUSE) -> None:
        self._lock = threading.Lock()
        self._open: list[Stream] = []
        self._by_uri: dict[str, Stream] = {}
        self._lookout = Lookout(os.path.join(root, ".nexus"), self._tell, pause)

    def subscribe(self, uri: str, deliver: Deliver) -> None:
        """Of the handshake era: tell of this resource, until `unsubscribe`. Again is once. Raises Fault."""
        paths = targets.of_uri(uri)
        if uri in self._by_uri:
            return
        stream = Stream({path: [(targets.UPDATED, {"uri": uri})] for path in paths}, 1, deliver, listens=False)
        self._admit(stream)
        self._by_uri[uri] = stream
        self.begin(stream)

    def unsubscribe(self, uri: str) -> None:
        """Tell of this resource no longer. One that was not subscribed to is no error."""
        stream = self._by_uri.pop(uri, None)
        if stream is not None:
            self.close(stream)

    def open(self, asked: Params, meta: Params, deliver: Deliver) -> tuple[Stream, Params]:
        """Of 2026-07-28: (a stream that has yet to `begin`, what its acknowledgement says). Raises Fault.

        `meta` is the `_meta` of every notification.
        """
        if len(asked.get("resourceSubscriptions") or ()) > MOST_URIS:  # not worth a look at each
            raise _limit()
        kept = targets.honoured(asked)
        uris = kept.get("resourceSubscriptions", ())
        wanted: dict[str, list[Event]] = {}
        for uri in uris:
            for path in targets.of_uri(uri):
                wanted.setdefault(path, []).append((targets.UPDATED, {"uri": uri, "_meta": meta}))
        for name in (name for name in targets.LISTS if name in kept):
            for path in targets.of_list(name):
                wanted.setdefault(path, []).append((targets.LISTS[name], {"_meta": meta}))
        stream = Stream(wanted, len(uris), deliver, listens=True)
        self._admit(stream)
        return stream, kept

    def begin(self, stream: Stream) -> None:
        """Deliver from now on."""
        with self._lock:
            stream.begun = True
            late = bool(stream.late)
        if late:
            self._lookout.call()

    def close(self, stream: Stream) -> None:
        """Deliver nothing any more, but for what is being delivered just now. Again is once."""
        with self._lock:
            if stream not in self._open:
                return
            self._open.remove(stream)
        self._lookout.remove(stream.wanted)

    def end(self) -> None:
        """Tell of what has changed by now, and of nothing afterwards."""
        self._lookout.end()

    def _admit(self, stream: Stream) -> None:
        """Raises Fault when it is one too many, or wants too much."""
        with self._lock:
            uris = stream.uris + sum(one.uris for one in self._open)
            listening = stream.listens + sum(one.listens for one in self._open)
            if uris > MOST_URIS or listening > MOST_STREAMS:
                raise _limit()
            self._open.append(stream)
        try:
            self._lookout.add(stream.wanted)
        except (RuntimeError, OSError, MemoryError) as error:
            self.close(stream)
            raise Fault(INTERNAL_ERROR, f"Nothing can be watched now: {error}") from None

    def _tell(self, changed: set[str]) -> None:
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
            told: dict[tuple[str, str], Event] = {}
            for path in stream.wanted:  # in its own order, each event once
                if path in paths:
                    told.update(
                        ((method, str(params.get("uri"))), (method, params)) for method, params in stream.wanted[path]
                    )
            for method, params in told.values():
                self._deliver(stream, method, params)

    def _deliver(self, stream: Stream, method: str, params: Params) -> None:
        with self._lock:
            if stream not in self._open:
                return
        try:
            stream.deliver(method, params)
        except Exception as error:  # noqa: BLE001 - one subscriber must not take the others with it
            log.warning(f"a notification could not be delivered: {type(error).__name__}: {error}")


def _limit() -> Fault:
    told = f"{MOST_STREAMS} streams and {MOST_URIS} resources may be open; end one, then ask again"
    return Fault(INTERNAL_ERROR, f"Subscription limit reached: {told}")
