"""Remove the temporary files of writers that died: in `.nexus`, its state, the notes and the artifact folders.

Other folders are swept by each change that writes to them.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.store import conflicts, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder

MOST_FOLDERS = 1000
DEPTH = 16
_NOTES = ("context", "memory", "rules")


def sweep(nexus: Folder, state: Folder, *, notes: bool) -> None:
    """Remove temporary files in both folders, and with `notes` in those of the notes. Only under the lock.

    Git tracks the notes, and would take in what lies beside them; so it does not wait for the next change of a note.
    Raises StorageError, for the notes never: the change does not need that.
    """
    conflicts.sweep(nexus)
    conflicts.sweep(state)
    for name in _NOTES if notes else ():
        _sweep_child(nexus, name, 1, [1])


def sweep_artifacts(state: Folder) -> None:
    """Remove temporary files below the artifacts. Only under the lock, and before the change prepares its own.

    Links are not followed; it ends after `MOST_FOLDERS` folders, and goes `DEPTH` deep. Never raises: the change does
    not need it.
    """
    left = [MOST_FOLDERS]
    _sweep_child(state, paths.ARTIFACTS, DEPTH, left)


def _sweep_child(parent: Folder, name: str, depth: int, left: list[int]) -> None:
    try:
        folder = parent.child(name)
    except NexusError:
        return  # a file, most often
    if folder is None:
        return
    with folder:
        left[0] -= 1
        try:
            conflicts.sweep(folder)
            names = folder.names()
        except NexusError:
            return
        for below in names if depth > 1 else ():
            if left[0] <= 0:
                return
            _sweep_child(folder, below, depth - 1, left)
