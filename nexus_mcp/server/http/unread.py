"""Close the connections of clients that do not read: after a deadline, or earlier if their responses fill the memory.

asyncio reports a full buffer to a protocol, but not over TLS: there most of the data waits in the transport below. So
all connections are examined each second. After a close asyncio waits 30 s for the client's end of TLS, which an idle
client never sends. The server does not need this end, so it drops such connections earlier.
"""

from __future__ import annotations

import asyncio
import time
from operator import itemgetter
from typing import TYPE_CHECKING

from nexus_mcp import log
from nexus_mcp.server.http.protocol import FEW

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nexus_mcp.server.http.limits import Limits
    from nexus_mcp.server.http.protocol import Protocol

_TICK_S = 1.0


class Unread:
    """Finds the clients of a server that do not read, and closes their connections."""

    def __init__(
        self, limits: Limits, connections: Collection[Protocol], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._connections = connections
        self._now = now
        self._since: dict[Protocol, float] = {}
        self._left: set[Protocol] = set()

    async def watch(self) -> None:
        """Check each second until the task is cancelled."""
        while True:
            await asyncio.sleep(_TICK_S)
            try:
                self.check()
            except Exception as error:  # noqa: BLE001 - the next check tries again
                log.error(f"the connections could not be checked: {type(error).__name__}: {error}")

    def check(self) -> None:
        """Drop the connections that have had more than FEW unread bytes for too long. While the unread bytes of all
        connections exceed their limit, drop more connections with more than FEW, the longest wait first. Drop also the
        connections that are `is_left` in two checks in a row.
        """
        left = {one for one in self._connections if one.is_left}
        for one in left & self._left:
            one.drop()
        self._left = left
        now = self._now()
        sizes = {one: one.unread for one in self._connections}
        self._since = {one: self._since.get(one, now) for one, size in sizes.items() if size > FEW}
        total = sum(sizes.values())
        for one, since in sorted(self._since.items(), key=itemgetter(1)):
            if total <= self._limits.unread and now - since < self._limits.write_s:
                return
            log.info(f"closed a connection whose client has left {sizes[one]} bytes unread")
            one.drop()
            total -= sizes[one]
