"""Ending in order when a signal asks for it.

A signal never raises within a callback of an event loop, where nobody would see it: it cancels the main task.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from types import FrameType

Result = TypeVar("Result")

_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ending:
    """What a signal did so far: `number` is that of the first one, 0 before."""

    def __init__(self) -> None:
        self.number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """What `main` returns, in an event loop of its own. Raises SystemExit, or KeyboardInterrupt for Ctrl-C, when a
        signal came, however it ended."""
        try:
            return asyncio.run(self._watched(main))
        finally:
            main.close()
            self._loop = self._task = None
            if self.number:
                raise _exit(self.number)

    async def _watched(self, main: Coroutine[Any, Any, Result]) -> Result:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        return await main

    def ask(self, number: int, _frame: FrameType | None) -> None:
        """The handler of the signals."""
        if self._loop is None or self._task is None:
            raise _exit(number)
        self.number = self.number or number
        # Wakes the loop, too, should it be waiting.
        self._loop.call_soon_threadsafe(self._task.cancel)


@contextmanager
def orderly(*, instead: bool = False) -> Iterator[Ending]:
    """For the length of the block, a signal that would end this process at once raises SystemExit instead, with the
    exit code that shells report for it, and Ctrl-C KeyboardInterrupt; out of `Ending.run` when that is running. Does
    nothing outside of the main thread, nor, unless `instead`, where the caller has a handler."""
    ending = Ending()
    before = {number: signal.getsignal(number) for number in (*_ENDINGS, signal.SIGINT) if _main()}
    plain = (signal.SIG_DFL, signal.default_int_handler)
    ours = [number for number, how in before.items() if how in plain or (instead and how != signal.SIG_IGN)]
    try:
        for number in ours:
            signal.signal(number, ending.ask)
        yield ending
    finally:
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def held() -> Iterator[None]:
    """For the length of the block, which should be a moment, no such signal and no Ctrl-C interrupts."""
    numbers = (*_ENDINGS, signal.SIGINT) if _main() else ()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _exit(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
