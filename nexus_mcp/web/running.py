"""Run an application with uvicorn until a signal ends it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from nexus_mcp.web.listening import end_signals

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

_TICK_S = 1


class EndingServer(uvicorn.Server):
    """A server that ends with exit code 0 after a signal. `on_stop` ends the streams, which would stay open otherwise;
    `on_start` is called when the server listens.
    """

    def __init__(
        self, config: uvicorn.Config, on_stop: Callable[[], None], on_start: Callable[[], None] | None = None
    ) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._on_start = on_start
        self._stopped = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and do not raise it again: the exit code is 0."""
        loop = asyncio.get_running_loop()
        for number in end_signals():
            loop.add_signal_handler(number, self.stop)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then call `on_start`."""
        await super().startup(sockets)
        if self._on_start is not None and not self.should_exit:
            self._on_start()

    async def main_loop(self) -> None:
        """Wait for the end, and renew the Date header each second; uvicorn's own loop wakes ten times a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), _TICK_S)

    def stop(self) -> None:
        """Accept no more connections, and answer the open requests. A second call ends the server at once."""
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        self._stopped.set()
        self._on_stop()
