"""Notify open pages when a project changed. The poller runs only while a page has a stream (decision 0064)."""

from __future__ import annotations

import asyncio
import json
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyio import to_thread

from nexus_mcp.store.poller import Poller, mark

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

    from nexus_mcp.board.projects import Project

EVENT = "nexus-change"
PING_S = 20
_SETTLE_S = 0.05
"""Seconds to wait for the other files of the same change, so that a page is read again only once."""


class Hub:
    """Wakes the streams of pages when a file of a project changed. All streams run in one event loop."""

    def __init__(self, projects: Iterable[Project]) -> None:
        self._paths = {project.key: project.paths() for project in projects}
        self._poller = Poller(_base, self._tell)
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def close(self) -> None:
        """End all streams, at once. Called in the event loop."""
        self._is_closed = True
        self._changed.set()

    def end(self) -> None:
        """End the polling, and wait for its thread."""
        self._poller.end()

    def checksum(self, keys: Iterable[str]) -> str:
        """Return a checksum of the present state of the files of these projects."""
        marks = [mark(_base(path), path) for key in keys for path in self._paths[key]]
        return f"{zlib.crc32(repr(marks).encode()):08x}"

    async def changes(self, keys: list[str], seen: str) -> AsyncGenerator[dict[str, str]]:
        """Yield an event at each change of these projects after the state with the checksum `seen`, until the board
        ends. Changes within a short time give one event.

        A page that slept for a while sends the checksum of the state that it shows, and gets one event at once if it
        missed a change.
        """
        self._loop = asyncio.get_running_loop()
        with self._watching(keys):
            while not self._is_closed:
                changed = self._changed
                now = await to_thread.run_sync(self.checksum, keys)
                if now == seen:
                    await changed.wait()
                    await asyncio.sleep(0 if self._is_closed else _SETTLE_S)
                else:
                    yield {"event": EVENT, "id": now, "data": json.dumps({"seen": now})}
                    seen = now

    @contextmanager
    def _watching(self, keys: list[str]) -> Iterator[None]:
        paths = [path for key in keys for path in self._paths[key]]
        self._poller.add(paths)
        try:
            yield
        finally:
            self._poller.remove(paths)

    def _tell(self, changed: set[str]) -> None:
        """Wake the streams if a path changed. The polling thread calls this."""
        if changed and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if not self._is_closed:
            self._changed.set()
            self._changed = asyncio.Event()


def _base(path: str) -> str:  # noqa: ARG001 - every path is absolute
    """Return the folder from which the poller resolves `path`."""
    return "/"
