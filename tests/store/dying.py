"""A process that dies, or a disk that fails, at the n-th system call of the store, played within the test's process."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")

# Everything that the store asks of the system and that can change a file, or must succeed for one to be changed.
CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "rmdir", "ftruncate", "pwrite", "listdir", "read")


class Died(BaseException):
    """The process is gone: not an Exception, so that no handler mistakes it for an error it could mend."""


class Calls:
    """Counts the calls made; `names` has them in order."""

    def __init__(self) -> None:
        self.names: list[str] = []


@contextmanager
def dying_at(number: int) -> Iterator[Calls]:
    """Die before the `number`-th call (from 1). A dead process makes no later call either, whatever its code tries."""
    seen = Calls()

    def wrapped(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.names.append(name)
            if len(seen.names) >= number:
                raise Died
            return real(*args, **kwargs)

        return call

    with _patched(wrapped):
        yield seen


def killed(number: int, run: Callable[[], T]) -> T | None:
    """What `run` returns, None when it died before its `number`-th call."""
    try:
        with dying_at(number):
            return run()
    except Died:
        pass
    # The kernel closes what a dead process had open; here it still hangs in the frames of its last exception.
    gc.collect()
    return None


@contextmanager
def failing_at(number: int, code: int) -> Iterator[Calls]:
    """The `number`-th call alone fails with the errno `code`; a write that fails has written half of its bytes."""
    seen = Calls()

    def wrapped(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.names.append(name)
            if len(seen.names) == number:
                if name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        return call

    with _patched(wrapped):
        yield seen


@contextmanager
def _patched(wrapped: Any) -> Iterator[None]:
    # The store asks at import whether os.open and os.unlink take dir_fd, so replacing them here changes no path taken.
    patches = [patch.object(os, name, wrapped(name, getattr(os, name))) for name in CALLS]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
