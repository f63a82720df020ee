"""Wait for child processes by their descriptors, as asyncio does by itself since Python 3.12.

Before that it starts a thread for each process, which costs a run more than the process itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any


def watch_children() -> None:
    """Let asyncio wait for child processes without threads, where the system has descriptors of processes."""
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        policy = asyncio.get_event_loop_policy()
        if not isinstance(policy.get_child_watcher(), _Watcher):
            policy.set_child_watcher(_Watcher())


if sys.version_info < (3, 12):

    class _Watcher(asyncio.ThreadedChildWatcher):
        """The watcher of Python 3.11, with a thread only where a process has no descriptor."""

        # The types of the base need a syntax of Python 3.12.
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
            loop.add_reader(fd, self._ended, loop, fd, pid, callback, args)

        def _ended(
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
            except ChildProcessError:  # something else waited for it
                code = 255
            callback(pid, code, *args)
