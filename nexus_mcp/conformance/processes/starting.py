"""Start processes, build their environment, and check whether this system has what they need.

If the system has no process, file or memory left, that is reported as a fault of the run, never of the target.
"""

from __future__ import annotations

import errno
import importlib.util
import itertools
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.processes.killing import MARK
from nexus_mcp.errors import HarnessFault, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.conformance.settings import TargetOptions

NAME_PROGRAM_HINT = "Give the program by its absolute path, or by a name that is on the PATH."
"""The next step if a command could not be started."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
_RESERVE = 40
"""Open files that this process needs for itself."""
_FOR_A_SERVER = 8
"""Open files of one server: for a moment both ends of three pipes, one file to watch its end, and one for its start."""
_FOR_A_FIXTURE = 12
"""Open files of one fixture: its folders, its helper processes, and the file that is being read."""
_LEFT_OUT = ("NEXUS_", "GIT_")
"""Beginnings of the names of variables that could lead a server, or the git that it starts, away from the project."""
_numbers = itertools.count()
_NEEDED = (
    *((os, "os", name) for name in ("O_DIRECTORY", "O_NOFOLLOW", "getsid", "killpg")),
    (signal, "signal", "pthread_sigmask"),
)


def make_environment(options: TargetOptions, project: str, mark: str) -> dict[str, str]:
    """Return the environment of a target's process.

    It has the user's variables without those of _LEFT_OUT, then those of the options and of the run. The variable with
    the `mark` also gets a number that no other process has, so that a kill by this whole text never ends the children
    of another process.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {
        **inherited,
        "PWD": project,
        **options.environment,
        options.project_env: project,
        MARK: f"{mark}.{next(_numbers)}",
    }


def start(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a command as Popen does, and return the process.

    Raise HarnessFault when this system has no process, file or memory left, OSError for any other reason.
    """
    try:
        return subprocess.Popen(list(command), **how)  # noqa: S603 - the user's own command, or this program
    except OSError as error:
        if error.errno in _EXHAUSTED:
            raise HarnessFault(
                [f"No more processes can be started here: {error.strerror}."], next_step="Run fewer fixtures at once."
            ) from error
        raise


def max_parallel_fixtures(lanes: int) -> int:
    """Return the number of fixtures, at least 1, that may run at once within the limit of open files.

    `lanes` is the largest number of servers that one fixture starts at once.
    """
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return 1 << 30
    return max(1, (limit - _RESERVE) // (_FOR_A_SERVER * lanes + _FOR_A_FIXTURE))


def check_platform(what: str) -> None:
    """Raise UsageError, naming `what`, on a system that cannot start servers and watch their files."""
    lacking = [f"{module}.{name}" for owner, module, name in _NEEDED if not hasattr(owner, name)]
    if importlib.util.find_spec("resource") is None:
        lacking.append("the module resource")
    if lacking:
        raise UsageError(
            f"{what} cannot run on this system: Python has no {', '.join(lacking)} here.",
            next_step="Run it on Linux or macOS, or in WSL.",
        )
