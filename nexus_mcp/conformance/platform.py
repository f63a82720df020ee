"""Check what the runner needs from the system before anything is started."""

from __future__ import annotations

import importlib.util
import os
import signal

from nexus_mcp.errors import UsageError

_NEEDED = (
    *((os, "os", name) for name in ("O_DIRECTORY", "O_NOFOLLOW", "getsid", "killpg")),
    (signal, "signal", "pthread_sigmask"),
)


def check_platform(what: str) -> None:
    """Raise UsageError where `what` cannot start servers and watch their files."""
    lacking = [f"{module}.{name}" for owner, module, name in _NEEDED if not hasattr(owner, name)]
    if importlib.util.find_spec("resource") is None:
        lacking.append("the module resource")
    if lacking:
        raise UsageError(
            f"{what} cannot run on this system: Python has no {', '.join(lacking)} here.",
            next_step="Run it on Linux or macOS, or in WSL.",
        )
