"""A proxy between clients and server that cuts connections: in a request, before its answer, or in the middle of it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress

_CHUNK = 1 << 14
_LONG = 1 << 40
_OF_REQUESTS = 0.3
"""The share of the cuts that meet a request; the others meet an answer."""


class Proxy:
    """Forwards to `target`, which may change while the proxy runs. About `cut_share` of the connections are cut."""

    def __init__(self, rng: random.Random, cut_share: float, most_delay_s: float) -> None:
        self._rng = rng
        self._cut_share = cut_share
        self._most_delay_s = most_delay_s
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.target = 0
        self.port = 0
        self.counts: Counter[str] = Counter()

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def end(self) -> None:
        """Cut all connections."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:  # the server is dead
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(back)
        up, down = self._budgets()
        tasks = [
            asyncio.ensure_future(self._forward(reader, back, up, 0.0)),
            asyncio.ensure_future(self._forward(there, writer, down, self._most_delay_s)),
        ]
        _, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for end in (writer, back):
            end.transport.abort()
            self._writers.discard(end)
        for task in left:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _budgets(self) -> tuple[int, int]:
        """Return how many bytes may pass up and down before the connection is cut."""
        if self._rng.random() >= self._cut_share:
            return _LONG, _LONG
        if self._rng.random() < _OF_REQUESTS:
            return self._rng.randint(0, 900), _LONG
        return _LONG, self._rng.choice((0, self._rng.randint(1, 300), self._rng.randint(1, 3000)))

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: int, most_delay_s: float
    ) -> None:
        with suppress(OSError):
            while part := await reader.read(_CHUNK):
                if most_delay_s:  # answers are under way for a while, so that kills and cuts meet them
                    await asyncio.sleep(self._rng.random() * most_delay_s)
                if len(part) > budget:
                    writer.write(part[:budget])
                    await writer.drain()
                    self.counts["answers cut" if most_delay_s else "requests cut"] += 1
                    return
                budget -= len(part)
                writer.write(part)
                await writer.drain()
