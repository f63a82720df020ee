"""Wait for child processes by pidfd, as asyncio itself does since Python 3.12.

Older versions start a thread for each process, and a run starts many short processes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any


def watch_children() -> None:
    """Let asyncio wait for child processes without threads, if the system has pidfd_open."""
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        policy = asyncio.get_event_loop_policy()
        if not isinstance(policy.get_child_watcher(), _Watcher):
            policy.set_child_watcher(_Watcher())


if sys.version_info < (3, 12):

    class _Watcher(asyncio.ThreadedChildWatcher):
        """The watcher of Python 3.11, with a thread only if a process gets no pidfd."""

        # The base class types `args` by a TypeVarTuple; Any is enough here.
        def add_child_handler(  # type: ignore[override]
            self, pid: int, callback: Callable[..., object], *args: Any
        ) -> None:
            """Call back with (pid, exit code, *args) once the process ended."""
            try:
                fd = os.pidfd_open(pid)
            except OSError:  # an old kernel, a sandbox, or no descriptor left
                super().add_child_handler(pid, callback, *args)
                return
            loop = asyncio.get_running_loop()
            loop.add_reader(fd, self._reap, loop, fd, pid, callback, args)

        def _reap(
            self,
            loop: asyncio.AbstractEventLoop,
            fd: int,
            pid: int,
            callback: Callable[..., object],
            args: tuple[Any, ...],
        ) -> None:
            loop.remove_reader(fd)
            os.close(fd)
            try:
                _, status = os.waitpid(pid, 0)
                code = os.waitstatus_to_exitcode(status)
            except ChildProcessError:  # other code waited for the process
                code = 255
            callback(pid, code, *args)
