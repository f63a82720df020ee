"""Run work in several forked processes at once: one that hangs or dies affects no other."""

from __future__ import annotations

import gc
import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
_CHUNK = 1 << 16
_LONGEST_LOOK = 1.0
# In memory where there is such a place: nothing of it has to survive, and fsync is then free.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


@dataclass
class _Child:
    item: Any
    pid: int
    pipe: int
    folder: str
    deadline: float
    output: bytearray = field(default_factory=bytearray)


def forked(
    items: Iterable[T], work: Callable[[T], Any], seconds: float, processes: int = 0
) -> Iterator[tuple[T, Any | None]]:
    """`work(item)` for each item, in a fork of this process as it is now: (item, result), as they come.

    The result has to be JSON. It is None when the process died or took longer than `seconds`; it is then killed with
    its group. Temporary files go into a folder of its own, which is removed. `processes` 0: one for each core.
    """
    waiting = iter(items)
    most = processes or os.cpu_count() or 1
    with selectors.DefaultSelector() as selector:
        children: dict[int, _Child] = {}
        try:
            while True:
                while len(children) < most and (item := next(waiting, _END)) is not _END:
                    child = _start(item, work, seconds)
                    children[child.pipe] = child
                    selector.register(child.pipe, selectors.EVENT_READ)
                if not children:
                    return
                for child in _ended(selector, children):
                    selector.unregister(child.pipe)
                    del children[child.pipe]
                    yield child.item, _end(child)
        finally:
            for child in children.values():
                _end(child)


_END = object()


def _start(item: Any, work: Callable[[Any], Any], seconds: float) -> _Child:
    folder = tempfile.mkdtemp(prefix="nexus-fork-", dir=MEMORY)
    reads, writes = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _work(item, work, writes, folder)
    os.close(writes)
    return _Child(item, pid, reads, folder, time.monotonic() + seconds)


def _work(item: Any, work: Callable[[Any], Any], writes: int, folder: str) -> None:
    """The whole life of a child; does not return."""
    code = 1
    try:
        gc.freeze()  # what the parent had is no garbage of this process: looking through it takes longer than the work
        os.setsid()
        tempfile.tempdir = folder
        os.environ["TMPDIR"] = folder
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        data = json.dumps(work(item)).encode()
        while data:
            data = data[os.write(writes, data) :]
        code = 0
    finally:
        os._exit(code)


def _ended(selector: selectors.BaseSelector, children: dict[int, _Child]) -> list[_Child]:
    """Those whose pipe has ended or whose time is up, after waiting for something to happen."""
    first = min(child.deadline for child in children.values()) - time.monotonic()
    ended = []
    for key, _ in selector.select(max(0.0, min(first, _LONGEST_LOOK))):
        child = children[key.fd]
        data = os.read(key.fd, _CHUNK)
        child.output += data
        if not data:
            ended.append(child)
    late = [child for child in children.values() if child not in ended and time.monotonic() > child.deadline]
    for child in late:
        child.output.clear()
    return ended + late


def _end(child: _Child) -> Any | None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    os.close(child.pipe)
    shutil.rmtree(child.folder, ignore_errors=True)
    try:
        return json.loads(bytes(child.output))
    except ValueError:
        return None
