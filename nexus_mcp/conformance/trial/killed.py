"""Killing a server in the middle of a call."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.trouble import TargetTrouble

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nexus_mcp.conformance.session import Session
    from nexus_mcp.conformance.trial.asking import Answer


async def killed(
    session: Session, ask: Callable[[], Awaitable[Answer]], delay: float, patience: float
) -> Answer | None:
    """Calls with `ask`, and kills the process group `delay` seconds after the request was sent.

    An answer that was written before counts; None: there was none. Raises TargetTrouble when the server ended or
    misbehaved by itself. Afterwards the session is of no more use, but still has to be killed.
    """
    assert session.transport is not None
    process = session.transport.process
    # Not by the event loop's clock, which is coarser than what is to be hit.
    timer = threading.Timer(delay, _kill_group, [process.pid])
    timer.daemon = True
    process.expect_end()
    session.transport.after_send = timer.start
    answer = None
    try:
        answer = await ask()
    except TargetTrouble:
        if session.transport.after_send is not None:
            raise
    finally:
        if session.transport.after_send is None:
            # Before the process is reaped: after that its number may be somebody else's.
            await asyncio.to_thread(timer.join)
    await process.death.wait(patience)
    if process.fault or process.death.code != -signal.SIGKILL:
        raise TargetTrouble(process.fault or process.death.description or "did not die when it was killed")
    return answer


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
