"""Send progress notifications of a long call over stdio, from the thread that runs the call.

So no notification is sent while a call waits for earlier calls. A notification that cannot be written at once is
dropped: the call may hold the lock of the project, and must not wait for a client that does not read.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.pipes import Sink

INTERVAL_S = 1.0
"""Minimum number of seconds before the first notification, and between two notifications."""


class Reports:
    """A listener for stages (nexus_mcp.progress). `is_over` returns whether the client has cancelled the call."""

    __slots__ = ("_began", "_is_over", "_last", "_next", "_sink", "_token")

    def __init__(self, token: Id, sink: Sink, is_over: Callable[[], bool]) -> None:
        self._token = token
        self._sink = sink
        self._is_over = is_over
        self._began = time.monotonic()
        self._next = self._began + INTERVAL_S
        self._last = 0.0

    def __call__(self, stage: str) -> None:
        """Send the stage to the client if a notification is due and the client has not cancelled the call."""
        now = time.monotonic()
        if now < self._next or self._is_over():
            return
        self._next = now + INTERVAL_S
        # Progress has to increase, even if the clock is coarse.
        self._last = max(round(now - self._began, 3), round(self._last + 0.001, 3))
        params = {"progressToken": self._token, "progress": self._last, "message": stage}
        self._sink.try_send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
