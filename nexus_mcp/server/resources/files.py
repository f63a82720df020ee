"""Check, inspect and read the files below .nexus behind resources."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, suppress

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.server.resources.definition import LIMIT, Refused
from nexus_mcp.state import artifact_name
from nexus_mcp.store import atomic, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder


def check_name(name: str) -> list[str]:
    """Return the segments of a file name. Raises Refused for an unsafe name."""
    try:
        return artifact_name.segments(name, atomic.PREFIX)
    except PathRefused as error:
        raise Refused(f"the name {error.problem}") from None


def is_safe(name: str) -> bool:
    """Return whether `check_name` accepts the name."""
    with suppress(Refused):
        return bool(check_name(name))
    return False


def read_file(folder: Folder | None, path: str) -> bytes | None:
    """Return the bytes of the file at a checked path below `folder`; None when there is none.

    Raises PathRefused, StorageError, and StateError for one that is too large.
    """
    if folder is None:
        return None
    with ExitStack() as stack:
        place, name = paths.find(stack, folder, path)
        try:
            return None if place is None else place.read(name, LIMIT)
        except StateError as error:  # too large, not broken
            advice = "Read the file itself, a part at a time, or have its author split it."
            raise StateError(error.file, error.problem, next_step=advice) from None


def info(folder: str, name: str) -> os.stat_result | None:
    """Return the status of the regular file `name` in `folder`; None for anything else."""
    with suppress(OSError, ValueError):
        seen = os.lstat(os.path.join(folder, name))
        if stat.S_ISREG(seen.st_mode):
            return seen
    return None
