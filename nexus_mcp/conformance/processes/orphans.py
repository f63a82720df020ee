"""Find processes that left everything that shows their origin: they become children of this process.

A process that forks twice, leaves its session and clears its environment has nothing of the server that started it.
Within `adopt_orphans` the system makes it a child of this process when its parent is gone, instead of a child of
process 1. Only Linux supports this; elsewhere nothing is found.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psutil

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


class _Nursery:
    """`before` are the processes that existed when the adoption began, None while it is off."""

    def __init__(self) -> None:
        self.before: frozenset[int] | None = None
        self.servers: dict[int, float] = {}
        """Every living process that the run started, and its start time in seconds since the epoch."""


_nursery = _Nursery()


@contextmanager
def adopt_orphans() -> Iterator[None]:
    """Make orphans of the run children of this process within the block; at its end kill those left."""
    import psutil

    inner = _nursery.before is not None
    was = _subreaper()
    if inner or was is None or not _become_subreaper(1):
        yield
        return
    _nursery.before = frozenset(psutil.pids())
    try:
        yield
    finally:
        for process in _adopted():
            with suppress(psutil.Error):
                process.kill()
            with suppress(ChildProcessError):
                os.waitpid(process.pid, 0)
        _nursery.before = None
        _become_subreaper(was)


def add_server(pid: int) -> None:
    """Record a process of the run: it is a child, but not an orphan. Call this before anything is awaited."""
    _nursery.servers[pid] = _age(pid)


def remove_server(pid: int) -> None:
    """Forget a process of the run, which has ended."""
    _nursery.servers.pop(pid, None)


def find_orphans(pid: int) -> set[psutil.Process]:
    """Return the living orphans that must come from the server `pid`: no other server of their time still lives.

    With several servers at once, an orphan counts for the last server alive of those that may have started it.
    """
    found = set()
    for process in _adopted():
        with suppress(ProcessLookupError):
            born = _age(process.pid)
            if [server for server, start in _nursery.servers.items() if start <= born] == [pid]:
                found.add(process)
    return found


def _adopted() -> list[psutil.Process]:
    """Return the children that the run did not start, and reap the dead ones, which no other code reaps."""
    import psutil

    if _nursery.before is None:
        return []
    found = []
    for pid in _children() - _nursery.before - _nursery.servers.keys():
        with suppress(psutil.Error, ProcessLookupError, ChildProcessError):
            # A process in our session was started by this process: what a server starts never has it.
            if os.getsid(pid) == os.getsid(0):
                continue
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(pid, os.WNOHANG)
            else:
                found.append(process)
    return found


def _children() -> set[int]:
    """Return the children of all threads of this process."""
    found: set[int] = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            with suppress(ProcessLookupError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                found.update(map(int, file.read().split()))
    except FileNotFoundError:  # a thread that just ended, or a system without such files
        import psutil

        return {process.pid for process in psutil.Process().children()}
    return found


def _age(pid: int) -> float:
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return time.time()


def _become_subreaper(value: int) -> bool:
    import ctypes

    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) == 0)


def _subreaper() -> int | None:
    """Return whether this process adopts orphans already, None where the system cannot."""
    import ctypes
    import sys

    if sys.platform != "linux":
        return None
    value = ctypes.c_int()
    done = ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    return value.value if done == 0 else None
