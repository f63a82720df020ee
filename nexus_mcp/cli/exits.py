"""Exit codes of all commands, the fast exit of `hook` and `status --line`, and the deferral of Ctrl-C."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OK = 0
FAILED = 1
USAGE = 2
EDITED = 3
"""`install`, `uninstall`, `package` and `export`: a user edited a written file by hand, so nothing was changed."""
NEEDS_PERSON = 3
"""`run`: a person is needed: the run stalled, was paused or stopped at an error, or its work is not in the user's
branch.
"""
LIMIT = 4
"""`run`: the limit of cost, time or attempts is reached."""
BLOCKED = 5
"""`run`: the precheck found a blocker, or the commands of the configuration are not trusted yet."""
BUSY = 6
"""`run`: another process works on a run of this project, and so holds the lock of runs."""
HUNG_UP = 129
"""The terminal of `demo`, `run`, `conformance` or `status --watch` was closed: shells report this code for SIGHUP."""
INTERRUPTED = 130
"""Ctrl-C: the code that shells report for SIGINT."""
OUTPUT_CLOSED = 141
"""The reader closed the pipe (`nexus-mcp --help | head -0`): the code that shells report for SIGPIPE."""
TERMINATED = 143
"""SIGTERM ended `demo`, `run`, `conformance` or `status --watch`: the code that shells report for it."""


def exit_now(code: int) -> int:
    """End the process at once for the commands that a harness starts all the time; return `code` for any other one.

    The interpreter's clean-up takes 10 % of a hook's time and has no use: the answer is written, no file is open.
    """
    if sys.argv[1:2] == ["hook"] or sys.argv[1:3] == ["status", "--line"]:
        os._exit(code)
    return code


@contextmanager
def defer_interrupt(stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let Ctrl-C call `stop` instead of interrupting the block, so that a change and its report stay together.

    Every wait in the block has to obey `stop`: a store then ends its wait for the lock with WaitStopped, which `main`
    reports.
    """
    import signal  # imported late: each import makes hooks slower
    import threading

    is_main = threading.current_thread() is threading.main_thread()
    # An ignored signal stays ignored: nohup and background jobs of a shell rely on that.
    if not is_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
