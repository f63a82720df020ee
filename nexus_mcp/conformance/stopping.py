"""Stop work: at a deadline, on request, or when a signal arrives.

No thread can be ended from outside. Work that may take long has a Halt, and calls `check` in its loops. `check` raises
RunHalted once the deadline of the Halt has passed or its `stop` was called. Without a Halt, `check` does nothing.

While `Ending.run` runs, a signal raises nothing in a callback of the event loop, where the error would be lost: it
cancels the main task.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.limits import GRACE_S, LAST_RESORT_S, LOOKING_S

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType

_current: ContextVar[Halt | None] = ContextVar("halt", default=None)
Result = TypeVar("Result")
_POLL = 0.05
_ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class RunHalted(Exception):
    """The work was stopped, or took too long."""


class Halt:
    """The limit of a piece of work: it has to stop after `seconds`, or when any thread calls `stop`."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Make the work stop at its next check."""
        self._stopped.set()

    def limit(self, seconds: float) -> None:
        """Limit the work to at most this many seconds from now."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def check(self) -> None:
        """Raise RunHalted when the work has to stop."""
        if self._stopped.is_set() or time.monotonic() > self._deadline:
            raise RunHalted


def check() -> None:
    """Raise RunHalted when the work that calls this has to stop."""
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
    """Run `work` in a thread and return its result.

    Raise what `work` raises, and TargetFailure when it takes more than `seconds`. When this is cancelled, it stops
    `work` and waits for its end, since `work` uses things that the caller closes next. If `work` blocks in a file
    system that never answers, it is abandoned GRACE_S seconds after it had to stop.
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
    except RunHalted:
        pass
    halt.stop()
    raise TargetFailure(f"left more files than can be read within {seconds:g} s")


class Ending:
    """The state of signal handling: `number` is that of the first signal, 0 before."""

    def __init__(self) -> None:
        self.number = 0
        self.last_resort: Callable[[], str] | None = None
        """Called when the process does not end in time: kills started processes, returns the end of the message."""
        self._timer: threading.Timer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    def run(self, main: Coroutine[Any, Any, Result]) -> Result:
        """Run `main` in an event loop of its own and return its result.

        Raise SystemExit, or KeyboardInterrupt for Ctrl-C, when a signal came, however `main` ended.
        """
        try:
            return asyncio.run(self._watch(main))
        finally:
            main.close()
            self._loop = self._task = None
            if self.number:
                raise _exit(self.number)

    async def _watch(self, main: Coroutine[Any, Any, Result]) -> Result:
        task = asyncio.create_task(main)
        self._loop, self._task = asyncio.get_running_loop(), task
        return await task

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Cancel the task of `run` because of a signal, or raise the exception for the signal if `run` does not run."""
        if self._loop is None or self._task is None:
            raise _exit(number)
        self.number = self.number or number
        if self._timer is None:
            # The main thread may block for ever, such as on a terminal that accepts no more output.
            self._timer = threading.Timer(LAST_RESORT_S, self._end_at_once)
            self._timer.daemon = True
            self._timer.start()
        # This also wakes a waiting loop.
        self._loop.call_soon_threadsafe(self._task.cancel)

    def close(self) -> None:
        """Cancel the forced end of the process."""
        if self._timer is not None:
            self._timer.cancel()

    def _end_at_once(self) -> None:
        leftovers = self.last_resort() if self.last_resort is not None else ""
        message = f"ended at once: it was still running {LAST_RESORT_S:g} s after a signal. {leftovers}\n"
        if select.select((), (2,), (), 0)[1]:
            os.write(2, message.encode("utf-8", "replace"))
        os._exit(128 + self.number)


@contextmanager
def handle_signals(*, instead: bool = False) -> Iterator[Ending]:
    """Raise SystemExit within the block for SIGTERM and SIGHUP, and KeyboardInterrupt for Ctrl-C.

    SystemExit has the exit code that shells report. While `Ending.run` runs, `Ending.run` raises the exception. Outside
    of the main thread this context manager does nothing. A signal for which the caller has set a handler keeps it,
    unless `instead` is true. A signal that is ignored stays ignored.
    """
    ending = Ending()
    before = {number: signal.getsignal(number) for number in (*_ENDINGS, signal.SIGINT) if _main()}
    plain = (signal.SIG_DFL, signal.default_int_handler)
    ours = [number for number, how in before.items() if how in plain or (instead and how != signal.SIG_IGN)]
    try:
        for number in ours:
            signal.signal(number, ending.handle)
        yield ending
    finally:
        ending.close()
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def block_signals() -> Iterator[None]:
    """Block SIGTERM, SIGHUP and Ctrl-C within the block, which should be short; outside of the main thread, none."""
    numbers = (*_ENDINGS, signal.SIGINT) if _main() else ()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_under_signals(work: Callable[[], Result], ending: Ending) -> Result | None:
    """Run `work` in a thread and return its result, None when it takes too long or raises an error.

    `work` has LOOKING_S seconds, but only GRACE_S from the moment of a signal. It runs in a thread since a file system
    that does not answer must not block this process.
    """
    halt = Halt(GRACE_S if ending.number else LOOKING_S)
    found: list[Result] = []

    def run() -> None:
        with set_halt(halt), suppress(RunHalted):
            found.append(work())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    waited = Halt(LOOKING_S + GRACE_S)
    hurried = False
    with suppress(RunHalted):
        while thread.is_alive():
            waited.check()
            thread.join(_POLL)
            if not hurried and (ending.number or {*_ENDINGS, signal.SIGINT} & signal.sigpending()):
                halt.limit(GRACE_S)
                waited.limit(2 * GRACE_S)
                hurried = True
    return found[0] if found else None


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


def _main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _exit(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
