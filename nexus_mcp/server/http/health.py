"""Answer /healthz (the process runs) and /readyz (the project folders exist, the stores in use answer).

Neither needs a token.
"""

from __future__ import annotations

import asyncio
import os
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from nexus_mcp.server.http.refusal import Refusal

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from nexus_mcp.server.http.mounts import Mounts

HEALTH, READY = "/healthz", "/readyz"
_WAIT_S = 5.0
_KEEP_S = 1.0
"""Seconds for which a result is reused, so that requests without a token do not cause more reads of the stores."""


class Health:
    """The answers to both paths."""

    def __init__(self, mounts: Mounts) -> None:
        self._mounts = mounts
        self._lock = asyncio.Lock()
        self._asking: asyncio.Task[bool] | None = None
        self._result = False
        self._until = 0.0

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request for one of the paths; return False for any other path. Raise Refusal."""
        if scope["path"] not in (HEALTH, READY):
            return False
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD only.", {"allow": "GET, HEAD"})
        if scope["path"] == READY and not await self._is_ready():
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "not ready")
        await Refusal(HTTPStatus.OK, "ok").response()(scope, receive, send)
        return True

    async def _is_ready(self) -> bool:
        async with self._lock:
            if time.monotonic() >= self._until:
                asking = self._asking or asyncio.create_task(self._ask())
                # Never cancelled: the read goes on in a thread, and has to keep its turn until the read ends.
                done, _ = await asyncio.wait((asking,), timeout=_WAIT_S)
                self._asking = None if done else asking
                self._result = bool(done) and asking.result()
                self._until = time.monotonic() + _KEEP_S
            return self._result

    async def _ask(self) -> bool:
        """Return whether all project folders exist and the stores in use answer."""
        if not all(os.path.isdir(root) for root in self._mounts.roots):
            return False
        return all([await mount.answers() for mount in self._mounts.opened_mounts])
