"""The files below .nexus that resources are made of: what is known of one without opening it, and what is in it."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, suppress

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.server.resources.definition import LIMIT, Refused
from nexus_mcp.state import artifact_name
from nexus_mcp.store import atomic, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder


def checked(name: str) -> list[str]:
    """The segments of the name of a file. Raises Refused for one that could leave its folder or confuse."""
    try:
        return artifact_name.segments(name, atomic.PREFIX)
    except PathRefused as error:
        raise Refused(f"the name {error.problem}") from None


def is_safe(name: str) -> bool:
    """Whether `checked` lets the name pass."""
    with suppress(Refused):
        return bool(checked(name))
    return False


def found(folder: Folder | None, path: str) -> bytes | None:
    """The bytes of the file at a path of good segments below `folder`; None when there is none.

    Raises PathRefused, StorageError, and StateError for one that is too large.
    """
    if folder is None:
        return None
    with ExitStack() as stack:
        place, name = places.found(stack, folder, path)
        try:
            return None if place is None else place.read(name, LIMIT)
        except StateError as error:  # there is nothing to mend
            advice = "Read the file itself, a part at a time, or let whoever wrote it make several of it."
            raise StateError(error.file, error.problem, next_step=advice) from None


def info(folder: str, name: str) -> os.stat_result | None:
    """What the system says of the plain file `name` in the folder at a path; None for anything else."""
    with suppress(OSError, ValueError):
        seen = os.lstat(os.path.join(folder, name))
        if stat.S_ISREG(seen.st_mode):
            return seen
    return None
