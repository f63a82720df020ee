"""Run work that may take long in a thread beside the event loop, so that the clocks of other fixtures go on."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from nexus_mcp.conformance.halting import Halt, Halted, obeying
from nexus_mcp.conformance.limits import GRACE_S, LOOKING_S
from nexus_mcp.conformance.trouble import TargetTrouble

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result], seconds: float = LOOKING_S) -> Result:
    """Return what `work` returns. Raises TargetTrouble when that takes more than `seconds`.

    When this is cancelled, it asks `work` to stop and waits until it does: what `work` uses must stay until then. Work
    that does not stop, since a target made a file system that never answers, is left behind after GRACE_S.
    """
    halt = Halt(seconds)
    done = _start(work, halt)
    try:
        await asyncio.wait({done}, timeout=seconds + GRACE_S)
    except asyncio.CancelledError:
        halt.ask()
        await asyncio.wait({done}, timeout=GRACE_S)
        if done.done() and not done.cancelled():
            done.exception()  # was looked at
        raise
    try:
        if done.done():
            return done.result()
    except Halted:
        pass
    halt.ask()
    raise TargetTrouble(f"left more than can be looked through within {seconds:g} s")


def _start(work: Callable[[], Result], halt: Halt) -> asyncio.Future[Result]:
    # A thread of its own, and a daemon: one that a file system keeps must not keep the end of this process.
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
            with obeying(halt):
                result = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where the result is waited for
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(finish, result, error)

    threading.Thread(target=context.run, args=(run,), daemon=True).start()
    return done
