"""Simulate a process that dies, or a disk that fails, at the n-th system call of the store."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from nexus_mcp.store import atomic

T = TypeVar("T")

# Everything that the store asks of the system and that can change a file, or must succeed for one to be changed.
_CALLS = (
    *(
        "open",
        "write",
        "fsync",
        "replace",
        "link",
        "unlink",
        "mkdir",
        "rmdir",
        "ftruncate",
        "pwrite",
        "listdir",
        "read",
    ),
    *("pread", "copy_file_range", "utime"),
)
_EXCHANGE = "exchange"  # of two names: a call of ours, because `os` has none
CALLS = (*(name for name in _CALLS if hasattr(os, name)), _EXCHANGE)  # macOS has no copy_file_range


class Died(BaseException):
    """The process has died. This is no Exception, so that no handler treats it as an error."""


class Calls:
    """Counts the calls made; `names` has them in order, `arguments` the positional arguments of each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.arguments: list[tuple[Any, ...]] = []


@contextmanager
def dying_at(number: int) -> Iterator[Calls]:
    """Die before the `number`-th call (from 1). A dead process makes no later call either, whatever its code tries."""
    seen = Calls()

    def wrapped(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.names.append(name)
            seen.arguments.append(args)
            if len(seen.names) >= number:
                raise Died
            return real(*args, **kwargs)

        return call

    with _patched(wrapped):
        yield seen


def killed(number: int, run: Callable[[], T]) -> T | None:
    """Return the result of `run`, None if it died before its `number`-th call."""
    # What is there already is no garbage of this call: looking through it takes longer than the call. It stays frozen,
    # because thawing it thaws with it what the whole run froze, and every later collection looks through that again.
    gc.collect()
    gc.freeze()
    try:
        with dying_at(number):
            return run()
    except Died:
        pass
    finally:
        # The kernel closes what a dead process had open; here it still hangs in the frames of its last exception.
        gc.collect()
    return None


@contextmanager
def meddling_at(number: int, meddle: Callable[[str], None]) -> Iterator[Calls]:
    """Run `meddle`, as another process would, before the `number`-th call; it gets the name of the call."""
    seen = Calls()

    def wrapped(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.names.append(name)
            seen.arguments.append(args)
            if len(seen.names) == number:
                meddle(name)
            return real(*args, **kwargs)

        return call

    with _patched(wrapped):
        yield seen


@contextmanager
def failing_at(number: int, code: int, also: tuple[str, ...] = (), *, lasting: bool = False) -> Iterator[Calls]:
    """The `number`-th call alone fails with the errno `code`; a write or a copy that fails has written half its bytes.

    `also` are calls of os or fcntl that count beside CALLS; a close that fails has closed, as the kernel does.
    `lasting`: every later call of the same name fails, too.
    """
    seen = Calls()

    def wrapped(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.names.append(name)
            seen.arguments.append(args)
            last = lasting and len(seen.names) > number and name == seen.names[number - 1]
            if len(seen.names) == number or last:
                if name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                if name == "copy_file_range" and args[2] > 1:
                    real(args[0], args[1], args[2] // 2, **kwargs)
                if name == "close":
                    real(*args)
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        return call

    with _patched(wrapped, (*CALLS, *also)):
        yield seen


@contextmanager
def _patched(wrapped: Any, names: tuple[str, ...] = CALLS) -> Iterator[None]:
    # The store asks at import whether os.open and os.unlink take dir_fd, so replacing them here changes no path taken.
    owners: dict[str, Any] = {name: os if hasattr(os, name) else fcntl for name in names}
    if _EXCHANGE in owners:
        owners[_EXCHANGE] = atomic
    patches = [patch.object(owner, name, wrapped(name, getattr(owner, name))) for name, owner in owners.items()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
