"""The cost of a durable write without a server: the lower bound for ours."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds of `work`."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def replace(path: Path, fill: Callable[[int], None]) -> None:
    """Replace a file: fill a new one beside it, sync it, rename it, and sync the folder."""
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
    """Keep the present file `path` on the disk until the end of the block, even if it is replaced.

    Freeing a file takes long, and our servers do that after the answer, so a lower bound must not include it.
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
    """Return the milliseconds of a `replace`."""
    with kept(path):
        return timed(partial(replace, path, fill))


def durable(path: Path, data: bytes) -> float:
    """Return the milliseconds for replacing a file by these bytes."""
    return replacing(path, partial(write, data=data))
