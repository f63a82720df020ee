"""What the resources that are answers of tools have in common."""

from __future__ import annotations

import os

from nexus_mcp.server.resources.definition import SIZED, Entry, sized
from nexus_mcp.server.resources.files import info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.resources.definition import Content, Look


def entry(look: Look, path: str, read: Callable[[], list[Content]] | None = None) -> Entry:
    """The one entry for what the file at a path from .nexus tells, with the size of what `read` gives.

    A large file is not read for that: a list is asked for often, and no more than a figure would come of it.
    """
    seen = info(os.path.join(look.workspace.root, ".nexus"), path)
    small = seen is None or seen.st_size <= SIZED
    size = sized(read) if read is not None and small else None
    return Entry("", {}, size=size, modified=None if seen is None else seen.st_mtime)
