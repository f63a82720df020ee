"""Artifacts: files that agents leave below `.nexus/state/artifacts`, walked to without following a link."""

from __future__ import annotations

import os
from contextlib import ExitStack

from nexus_mcp.errors import NotConfirmed
from nexus_mcp.state import artifact_name
from nexus_mcp.store import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store

FOLDER = "artifacts"


def write(store: Store, filename: str, content: str) -> str:
    """Write `content` as UTF-8 to the artifact `filename`, over an older one; its absolute path.

    Raises PathRefused, StorageError with nothing written, NotConfirmed.
    """
    *folders, name = artifact_name.segments(filename, atomic.PREFIX)
    data = content.encode()
    with store.locked_state() as (state, _), ExitStack() as stack:
        made: list[tuple[Folder, str]] = []
        try:
            folder = state
            for part in (FOLDER, *folders):
                below, is_new = folder.make(part)
                if is_new:
                    made.append((folder, part))
                folder = stack.enter_context(below)
            atomic.sweep(folder)
            atomic.put(folder, name, data)
            return os.path.join(folder.path, name)
        except NotConfirmed:
            raise
        except BaseException:
            _take_back(made)
            raise


def _take_back(made: list[tuple[Folder, str]]) -> None:
    """Remove the folders that a failed call made, the innermost first. One that is not empty by now stays."""
    for parent, name in reversed(made):
        if not parent.remove_folder(name):
            return
