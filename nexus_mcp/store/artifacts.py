"""Artifacts: files that agents leave below `.nexus/state/artifacts`, walked to without following a link."""

from __future__ import annotations

import os
from contextlib import ExitStack

from nexus_mcp.errors import NotConfirmed, StorageError
from nexus_mcp.state import artifact_name
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.store import Store

FOLDER = "artifacts"


def write(store: Store, filename: str, content: str) -> str:
    """Write `content` as UTF-8 to the artifact `filename`, over an older one; its absolute path.

    Raises PathRefused, StorageError with nothing written, NotConfirmed.
    """
    *folders, name = artifact_name.segments(filename, atomic.PREFIX)
    data = content.encode()
    with store.locked_state() as state, ExitStack() as stack:
        made: list[tuple[Folder, str]] = []
        try:
            folder = state
            for part in (FOLDER, *folders):
                known = folder.child(part)
                if known is None:
                    made.append((folder, part))
                    known = folder.make(part)
                folder = stack.enter_context(known)
            atomic.sweep(folder)
            _replace(folder, name, data)
            return os.path.join(folder.path, name)
        except NotConfirmed:
            raise
        except BaseException:
            _take_back(made)
            raise


def _replace(folder: Folder, name: str, data: bytes) -> None:
    try:
        atomic.replace(folder, name, [data])
    except atomic.Unsynced as error:
        raise NotConfirmed(folder.show(name), reason(error.cause)) from error
    except OSError as error:
        raise StorageError(folder.show(name), "write", reason(error)) from error


def _take_back(made: list[tuple[Folder, str]]) -> None:
    """Remove the folders that a failed call made. One that is not empty, or will not go, may stay."""
    for parent, name in reversed(made):
        try:
            parent.remove_folder(name)
        except OSError:
            return
