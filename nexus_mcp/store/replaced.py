"""Letting go of a file that is replaced when nobody waits for that."""

from __future__ import annotations

import os

from nexus_mcp.errors import NexusError
from nexus_mcp.store.folder import AT, let_go

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder


class Replaced:
    """The file that a change replaces or removes, kept open until nothing refers to this any more.

    The system frees what a file took on the disk when its last name is gone and nobody has it open. That takes a fifth
    of the time of a short change, so it is left until the change was answered. In nobody's way: without it, all is only
    slower.
    """

    __slots__ = ("_fd",)

    def __init__(self, folder: Folder, name: str) -> None:
        """To be made before the file `name` goes."""
        self._fd: int | None = None
        if AT:  # Windows replaces no file that is open
            try:  # noqa: SIM105 - as in folder.let_go
                self._fd = folder.open(name, os.O_RDONLY)
            except (OSError, NexusError):
                pass

    def __del__(self) -> None:
        if self._fd is not None:
            let_go(self._fd)
