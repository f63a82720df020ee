"""The exit codes of every command, and the way out of the one that an agent waits for at every step."""

from __future__ import annotations

import os
import sys

OK = 0
FAILED = 1
USAGE = 2
HUNG_UP = 129
"""The terminal of the demo was closed: what shells report for SIGHUP."""
INTERRUPTED = 130
"""Ctrl-C: what shells report for SIGINT."""
OUTPUT_CLOSED = 141
"""Nobody reads the output any more (`nexus-mcp --help | head -0`): what shells report for SIGPIPE."""
TERMINATED = 143
"""The demo was asked to stop: what shells report for SIGTERM."""


def left(code: int) -> int:
    """Leaves the process of a hook at once; the code itself for any other command.

    What the interpreter tidies up at its end takes a tenth of a hook's time, and is of no use to anybody: the answer is
    out, and no file is open.
    """
    if sys.argv[1:2] == ["hook"]:
        os._exit(code)
    return code
