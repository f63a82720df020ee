"""Fork this process with all modules loaded, so that thousands of children can be started and killed."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable


def start(run: Callable[[], None], keep: Iterable[int]) -> int:
    """Fork a process that runs `run` and ends; return its pid. It inherits only `keep` and the standard descriptors."""
    pid = os.fork()
    if pid != 0:
        return pid
    code = 1
    try:
        _close_all_but({0, 1, 2, *keep})
        run()
        code = 0
    except BaseException:  # noqa: BLE001 - an exception must not leave the fork to run the parent's code
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait(pid: int) -> int:
    """Wait until the process has ended; return its exit code, or the negative number of the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _close_all_but(keep: set[int]) -> None:
    low = 0
    for fd in sorted(keep):
        if low < fd:  # closerange(0, 0) would close every descriptor
            os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
