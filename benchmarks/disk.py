"""The cost of a durable write without a server: the lower bound for ours."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def replace(path: Path, fill: Callable[[int], None]) -> None:
    """A file filled beside its place, synced, renamed, and the folder synced."""
    unfinished = path.with_suffix(".new")
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        fill(fd)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(unfinished, path)
    sync(path.parent)


def sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """What is at `path`, if anything, stays on the disk until the end, whatever takes its place.

    To free it takes long, and our servers do that after the answer: a limit with it in would be none.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        yield
    finally:
        os.close(fd)


def replacing(path: Path, fill: Callable[[int], None]) -> float:
    """Milliseconds for a `replace`."""
    with kept(path):
        return timed(partial(replace, path, fill))


def durable(path: Path, data: bytes) -> float:
    """Milliseconds for these bytes in place of a file."""
    return replacing(path, partial(write, data=data))
