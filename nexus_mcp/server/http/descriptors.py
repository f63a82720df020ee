"""Raise the limit of open files of a server: each connection takes a descriptor, and calls need some for files."""

from __future__ import annotations

import os

from nexus_mcp import log
from nexus_mcp.errors import UsageError

_RESERVE = 128
"""Descriptors for files, locks, watchers and modules, besides those of connections."""


def room_for(connections: int) -> int:
    """Raise the limit of this process if needed. Return how many connections fit, at most `connections`.

    With all descriptors taken, no call could open a file. Raise UsageError if not even the reserve fits.
    """
    if os.name != "posix":
        return connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _RESERVE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):  # a system with a lower limit of its own
        most = soft
    fitting = most - _RESERVE
    if fitting < 1:
        raise UsageError(
            f"The limit of {most} open files is too low for a server.", next_step=f"Raise it: ulimit -n {wanted}"
        )
    if fitting < connections:
        log.warning(f"only {fitting} connections fit into the limit of {most} open files (ulimit -n)")
    return fitting
