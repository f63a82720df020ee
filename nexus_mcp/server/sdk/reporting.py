"""Send progress notifications of a long request to a client that wants them.

A short request costs only a timer and causes no notification. Progress is in seconds since the request came, without a
total: how long another process keeps the lock is unknown.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from nexus_mcp import log, progress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any]

INTERVAL_S = 1.0
"""Seconds before the first notification, and between two notifications."""


@asynccontextmanager
async def reporting(context: Context) -> AsyncIterator[Callable[[str], None] | None]:
    """Report the request's progress within the block, never after it.

    Yield a function that takes the current stage; any thread may call it. Yield None if the client wants no
    notifications.
    """
    if not _wants_progress(context):
        yield None
        return
    reports = _Reports(context)
    try:
        yield reports.enter
    finally:
        await reports.end()


def _wants_progress(context: Context) -> bool:
    meta = (context.params or {}).get("_meta")
    return isinstance(meta, dict) and meta.get("progressToken") is not None


class _Reports:
    """The notifications of one request. A client that reads slowly gets fewer notifications."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stage = progress.WAITING_FOR_TURN
        self._began = time.monotonic()
        self._last = 0.0
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._begin)

    def enter(self, stage: str) -> None:
        """Name this stage in the next notifications."""
        self._stage = stage

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while True:
                # Progress has to increase, even if the clock is coarse.
                self._last = max(round(time.monotonic() - self._began, 3), round(self._last + 0.001, 3))
                await self._context.session.report_progress(self._last, None, self._stage)
                await asyncio.sleep(INTERVAL_S)
        except Exception as error:  # noqa: BLE001 - the client went away; the request itself notices that
            log.debug(f"no more progress can be reported: {type(error).__name__}")

    async def end(self) -> None:
        """Stop the notifications: none is sent after this returns."""
        self._timer.cancel()
        if self._task is None:
            return
        self._task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait((self._task,))
