"""Processes that left everything that could tell whose they are: they become ours, and are told by that.

A process that forks twice, leaves its session and clears its environment has nothing of the server that started it.
While `adopting`, the system gives it to us when its parent is gone, instead of to process 1. Only where there is such
a way, which is Linux; elsewhere nothing is found.
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
    """`before` are the processes that were there when the adopting began; None while nobody adopts."""

    def __init__(self) -> None:
        self.before: frozenset[int] | None = None
        self.servers: dict[int, float] = {}
        """Every living process that the run started, and when."""


_nursery = _Nursery()


@contextmanager
def adopting() -> Iterator[None]:
    """For the length of the block, orphans of what we started become our children; at its end those left are killed."""
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


def started(pid: int) -> None:
    """A process of the run: it is a child of ours, but no orphan. To be told before anybody waits for anything."""
    _nursery.servers[pid] = _age(pid)


def reaped(pid: int) -> None:
    """It is no more."""
    _nursery.servers.pop(pid, None)


def of(pid: int) -> set[psutil.Process]:
    """The living orphans that must come from the server `pid`: no other that was there when they began still lives.

    With several servers at once the last of them answers for an orphan that any of them may have made.
    """
    found = set()
    for process in _adopted():
        with suppress(ProcessLookupError):
            born = _age(process.pid)
            if [server for server, start in _nursery.servers.items() if start <= born] == [pid]:
                found.add(process)
    return found


def _adopted() -> list[psutil.Process]:
    """Our children that we did not start. The dead ones are reaped on the way, for nobody else would do it."""
    import psutil

    if _nursery.before is None:
        return []
    found = []
    for pid in _children() - _nursery.before - _nursery.servers.keys():
        with suppress(psutil.Error, ProcessLookupError, ChildProcessError):
            # Whoever has our session was started by somebody in this process: what a server starts never has.
            if os.getsid(pid) == os.getsid(0):
                continue
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(pid, os.WNOHANG)
            else:
                found.append(process)
    return found


def _children() -> set[int]:
    """Of all of our threads."""
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
    """Whether this process adopts orphans already, None where there is no such thing."""
    import ctypes
    import sys

    if sys.platform != "linux":
        return None
    value = ctypes.c_int()
    done = ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    return value.value if done == 0 else None
