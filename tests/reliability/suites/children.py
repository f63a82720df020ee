"""Fork this process with all modules loaded, so that thousands of children can be started and killed."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable


def start(run: Callable[[], None], keep: Iterable[int]) -> int:
    """Fork a process that runs `run` and ends; its pid. Of our descriptors it has `keep` and the standard ones."""
    pid = os.fork()
    if pid != 0:
        return pid
    code = 1
    try:
        _close_all_but({0, 1, 2, *keep})
        run()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may come out of a fork and go on as its parent
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait(pid: int) -> int:
    """Wait until it is gone: its exit code, or the number of its signal below zero."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _close_all_but(keep: set[int]) -> None:
    low = 0
    for fd in sorted(keep):
        if low < fd:  # an empty range that ends at 0 is taken for all there are
            os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
