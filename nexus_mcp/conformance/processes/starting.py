"""Starting a process, where a system that has no more to give is no fault of what is started."""

from __future__ import annotations

import errno
import subprocess
from typing import TYPE_CHECKING, Any

from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
_RESERVE = 40
_FOR_A_SERVER = 8
"""Files: three pipes, of which both ends are open for a moment, one to watch it end, one for how its start went."""
_FOR_A_FIXTURE = 12
"""Its folders, the worker that checks schemas, what is read at the time."""


NAME_IT = "Give the program by its absolute path, or by a name that is on the PATH."
"""What to do about a command that could not be started."""


def start(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """As Popen does. Raises HarnessFault when this system has no room for it, OSError for any other reason."""
    try:
        return subprocess.Popen(list(command), **how)  # noqa: S603 - what the user wants tested, or ourselves
    except OSError as error:
        if error.errno in _EXHAUSTED:
            raise HarnessFault(
                [f"No more processes can be started here: {error.strerror}."], next_step="Run fewer fixtures at once."
            ) from error
        raise


def room(lanes: int) -> int:
    """How many fixtures at once the limit of open files allows, at least 1, when one has so many servers."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return 1 << 30
    return max(1, (limit - _RESERVE) // (_FOR_A_SERVER * lanes + _FOR_A_FIXTURE))
