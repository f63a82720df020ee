"""Run long work in a thread beside the event loop, with a deadline and a way to stop it.

No thread can be ended from outside. Work that may take long calls `check` in its loops, which raises Halted once its
deadline has passed or `Halt.stop` was called. Outside of such work `check` does nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.limits import GRACE_S, LOOKING_S

if TYPE_CHECKING:
    from collections.abc import Callable

_current: ContextVar[Halt | None] = ContextVar("halt", default=None)

Result = TypeVar("Result")


class Halted(Exception):
    """The work was stopped, or took too long."""


class Halt:
    """When a piece of work has to stop: after `seconds`, or when `stop` is called, from any thread."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Make the work stop at its next check."""
        self._stopped.set()

    def limit(self, seconds: float) -> None:
        """Leave the work at most this many seconds from now."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def check(self) -> None:
        """Raise Halted when the work has to stop."""
        if self._stopped.is_set() or time.monotonic() > self._deadline:
            raise Halted


def check() -> None:
    """Raise Halted when the work that calls this has to stop."""
    halt = _current.get()
    if halt is not None:
        halt.check()


@contextmanager
def set_halt(halt: Halt) -> Iterator[None]:
    """Let `check` consult `halt` within the block, in this thread or task."""
    token = _current.set(halt)
    try:
        yield
    finally:
        _current.reset(token)


async def in_thread(work: Callable[[], Result], seconds: float = LOOKING_S) -> Result:
    """Run `work` in a thread and return its result. Raises TargetFailure when it takes more than `seconds`.

    When this is cancelled, it stops `work` and waits for its end, since `work` uses things that the caller closes next.
    Work that blocks in a file system that never answers is abandoned after GRACE_S.
    """
    halt = Halt(seconds)
    done = _start(work, halt)
    try:
        await asyncio.wait({done}, timeout=seconds + GRACE_S)
    except asyncio.CancelledError:
        halt.stop()
        await asyncio.wait({done}, timeout=GRACE_S)
        if done.done() and not done.cancelled():
            done.exception()  # marks the exception as retrieved
        raise
    try:
        if done.done():
            return done.result()
    except Halted:
        pass
    halt.stop()
    raise TargetFailure(f"left more files than can be read within {seconds:g} s")


def _start(work: Callable[[], Result], halt: Halt) -> asyncio.Future[Result]:
    # A daemon thread: one that a file system blocks must not delay the end of this process.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def finish(result: Result | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: Result | None = None
        error: BaseException | None = None
        try:
            with set_halt(halt):
                result = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where the result is waited for
            error = raised
        with suppress(RuntimeError):  # the loop is closed: the result is no longer needed
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=context.run, args=(run,), daemon=True).start()
    return done
