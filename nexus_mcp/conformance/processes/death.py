"""Notices the end of a child process without reaping it, so that its number stays its own until all is cleaned up.

Where the system cannot tell without reaping (macOS before Python 3.13), it is reaped at once: its number is then free
for the moment until its family is ended. Such a system gives numbers in turn, so nobody else has got it by then.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

_INTERVAL = 0.02


class Death:
    """Watches the child `popen`; `on_death` is called once, in the event loop, unless `end` came first.

    `told` is whether it is dead, `description` then how it died: "exited with code 3", "was ended by SIGSEGV", and
    `code` its exit code, negative for a signal.
    """

    def __init__(self, popen: subprocess.Popen[bytes], on_death: Callable[[], None]) -> None:
        self.told = False
        self.description = ""
        self.code = 0
        self._popen = popen
        self._on_death = on_death
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._fd = -1
        try:
            self._fd = os.pidfd_open(popen.pid)
        except (AttributeError, OSError):  # not on this system: look now and then
            self._timer = self._loop.call_later(_INTERVAL, self._look)
        else:
            self._loop.add_reader(self._fd, self._look)

    async def wait(self, seconds: float) -> None:
        """Returns when it is dead or watched no longer, at the latest after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._done.wait()

    def end(self) -> None:
        """Watches no longer, and lets nobody wait."""
        self._done.set()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        code = _code(self._popen)
        if code is None:
            self._timer = self._loop.call_later(_INTERVAL, self._look) if self._fd < 0 else None
            return
        self.told = True
        self.code = code
        self.description = _described(code)
        self.end()
        self._on_death()


def _code(popen: subprocess.Popen[bytes]) -> int | None:
    """How a child ended, negative for a signal; None: it goes on."""
    if not hasattr(os, "waitid"):
        return popen.poll()
    state = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if state is None:
        return None
    return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def _described(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
