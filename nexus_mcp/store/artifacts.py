"""Artifacts: files that agents leave below `.nexus/state/artifacts`, walked to without following a link."""

from __future__ import annotations

import os
from contextlib import ExitStack

from nexus_mcp.errors import NexusError, NotConfirmed, PathRefused
from nexus_mcp.state import artifact_name
from nexus_mcp.state import oplog as entries
from nexus_mcp.store import atomic, oplog, places
from nexus_mcp.store.commit import put_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import EllipsisType

    from nexus_mcp.state.oplog import By
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store

FOLDER = places.ARTIFACTS
KEPT_LIMIT = 1 << 20
"""Bytes of an older artifact that are looked at for what undo needs."""


def write(store: Store, filename: str, content: str, by: By) -> str:
    """Write `content` as UTF-8 to the artifact `filename`, over an older one; its absolute path.

    Raises PathRefused, StorageError with nothing written, NotConfirmed.
    """
    artifact_name.segments(filename, atomic.PREFIX)
    _check_encoding(filename)
    data = content.encode()
    with store.locked_state() as (state, _), ExitStack() as stack:
        made: list[tuple[Folder, str]] = []
        try:
            place = f"{FOLDER}/{filename}"
            folder, name = places.made(stack, state, place, made)
            before = _before(folder, name)

            def entry() -> entries.Entry:
                file = entries.left(place, data) if before is ... else entries.changed(place, before, data)
                return entries.entry(oplog.new_id(), store.stamp(), by, [file])

            put_one(state, folder, name, data, entry)
            return os.path.join(folder.path, name)
        except NotConfirmed:
            raise
        except BaseException:
            _take_back(made)
            raise


def _check_encoding(filename: str) -> None:
    """Raises PathRefused for a name that this process cannot give to a file: its locale has another encoding."""
    try:
        os.fsencode(filename)
    except UnicodeEncodeError as error:
        raise PathRefused(
            "filename",
            f"has characters that cannot be in a file name here, where names are {error.encoding}",
            next_step="Choose a name of ASCII characters, or start the server with PYTHONUTF8=1.",
        ) from error


def _before(folder: Folder, name: str) -> bytes | EllipsisType | None:
    """The bytes of an older artifact, None when there is none; `...` when they cannot be had, or not cheaply."""
    try:
        return folder.read(name, KEPT_LIMIT)
    except NexusError:
        return ...  # if it must not be written over either, the write will tell


def _take_back(made: list[tuple[Folder, str]]) -> None:
    """Remove the folders that a failed call made, the innermost first. One that is not empty by now stays."""
    for parent, name in reversed(made):
        if not parent.remove_folder(name):
            return
