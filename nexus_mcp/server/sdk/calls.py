"""Run the calls of tools beside the event loop, in a thread, or in the loop itself if a thread would cost more.

A thread takes longer to start and to end than a short read takes. So a tool that only reads runs in the loop while its
calls are short and need no lock (docs/decisions/0170). A tool with parameters always runs in a thread: how long a
call takes depends on its arguments, so the last call says nothing about the next one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from nexus_mcp import progress
from nexus_mcp.store.access import LockNeeded
from nexus_mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nexus_mcp.server.app import Answer, App

SHORT_S = 0.002
"""A call in the event loop was short if it took less than this: all other requests wait for the call."""
_BUSY_S = 0.001
_LATE_S = 0.02
"""A call in a thread was short if it took less than _BUSY_S of processor time and ended within _LATE_S. _LATE_S is
larger, because with many requests a thread also waits for the interpreter, whatever its call does.
"""


class Calls:
    """The calls of one app: try `run_here`, then `run_in_thread`. `short` has the tools without parameters that only
    read and whose last call was short.

    A call that runs appends its answer to `answers`. `caller` has the other arguments of `App.call`.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        prefix = app.prefix
        self._readers = {prefix + tool.name for tool in TOOLS if tool.read_only and not tool.parameters}
        self.short: set[str] = set()

    def run_in_thread(
        self,
        answers: list[Answer],
        tool: str,
        arguments: dict[str, Any] | None,
        caller: dict[str, Any],
        enter: Callable[[str], None] | None,
    ) -> Awaitable[None]:
        """Return an awaitable that runs the call in a thread and raises UnknownTool. `enter`, unless None, is called
        with each stage of the call.
        """

        def run() -> None:
            begun, used = time.perf_counter(), time.thread_time()
            with progress.listening(enter):
                answers.append(self._app.call(tool, arguments, **caller))
            is_short = time.thread_time() - used < _BUSY_S and time.perf_counter() - begun < _LATE_S
            if is_short and tool in self._readers:
                self.short.add(tool)
            elif not is_short:
                self.short.discard(tool)

        return anyio.to_thread.run_sync(run)

    def run_here(
        self, answers: list[Answer], tool: str, arguments: dict[str, Any] | None, caller: dict[str, Any]
    ) -> bool:
        """Run the call in the event loop if its tool is in `short`; return whether it ran. A call that needs the lock
        or has arguments does not run here.
        """
        if tool not in self.short or arguments:
            return False
        begun = time.perf_counter()
        try:
            answers.append(self._app.call_without_lock(tool, arguments, **caller))
        except LockNeeded:
            return False
        if time.perf_counter() - begun >= SHORT_S:
            self.short.discard(tool)
        return True
