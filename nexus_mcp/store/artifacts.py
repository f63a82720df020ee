"""Write artifacts: files that agents leave below `.nexus/state/artifacts`. Links in a path are not followed."""

from __future__ import annotations

import os
from contextlib import ExitStack

from nexus_mcp.errors import NotConfirmed, PathRefused
from nexus_mcp.state import artifact_name
from nexus_mcp.state import oplog as changes
from nexus_mcp.store import atomic, paths
from nexus_mcp.store.commit import write_one
from nexus_mcp.store.replacement import ChangedMeanwhile, Original, Replacement, read_any, retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.state.oplog import By
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store
    from nexus_mcp.store.transaction import Transaction

    Noted = Callable[[dict[str, Any]], changes.Entry]

FOLDER = paths.ARTIFACTS
KEPT_LIMIT = 1 << 20
"""Largest old artifact, in bytes, that a call without an idempotency key reads. Undo cannot restore a larger one."""


def write(store: Store, filename: str, content: str, by: By) -> str:
    """Write `content` as UTF-8 to the artifact `filename`, replacing an older one; return its absolute path.

    Raise StateError, PathRefused and StorageError with nothing written, NotConfirmed. A call with an idempotency key
    may also raise NotAppliedYet, and NexusError if another call used the key.
    """
    artifact_name.segments(filename, atomic.PREFIX)
    _check_encoding(filename)
    data = content.encode()
    if by.keyed is not None:
        return _write_recorded(store, filename, data, by)
    with store.locked_state() as (state, _), ExitStack() as stack:
        made: list[tuple[Folder, str]] = []
        try:
            place = f"{FOLDER}/{filename}"
            folder, name = paths.make(stack, state, place, made)
            id_ = os.urandom(8).hex()
            _replace(
                state, folder, (place, name, id_), data, lambda file: changes.entry(id_, store.stamp(), by, [file])
            )
            return os.path.join(folder.path, name)
        except NotConfirmed:
            raise
        except BaseException:
            _take_back(made)
            raise


def _write_recorded(store: Store, filename: str, data: bytes, by: By) -> str:
    """Write the artifact together with the record of the call's idempotency key. Return and raise as `write`."""
    path = os.path.join(store.state_path, FOLDER, *filename.split("/"))

    def change(now: Transaction) -> dict[str, Any]:
        now.put_artifact(f"{FOLDER}/{filename}", data)
        return {"path": path}

    answer: str = store.change(change, by)["path"]
    return answer


def _check_encoding(filename: str) -> None:
    """Raise PathRefused for a name that this process cannot give to a file, because its locale has another encoding."""
    try:
        os.fsencode(filename)
    except UnicodeEncodeError as error:
        raise PathRefused(
            "filename",
            f"has characters that cannot be in a file name here, where names are {error.encoding}",
            next_step="Choose a name of ASCII characters, or start the server with PYTHONUTF8=1.",
        ) from error


def _replace(state: Folder, folder: Folder, names: tuple[str, str, str], data: bytes, noted: Noted) -> None:
    """Replace the artifact by `data`. If another program saves it from now on, keep that save as a copy beside it.

    The new content does not depend on the old one, so the call does not run again; without a copy the save would be
    lost. `names` has the artifact's path from `.nexus/state`, its name in `folder`, and the id of the change. `noted`
    makes the entry for the operation log.
    """
    place, name, id_ = names
    original = read_any(folder, name, KEPT_LIMIT)
    before = original.data

    def entry() -> changes.Entry:
        return noted(changes.file_after(place, data) if before is ... else changes.file_change(place, before, data))

    def put() -> None:
        nonlocal original
        try:
            write_one(state, folder, (name, original), data, entry, forward=id_)
        except ChangedMeanwhile:  # the file appeared or disappeared
            save = read_any(folder, name, KEPT_LIMIT)
            save.disown()
            Replacement(folder, name, save, id_).install("", None)
            original = Original()
            raise

    retry(put)


def _take_back(made: list[tuple[Folder, str]]) -> None:
    """Remove the folders that a failed call made, the innermost first. A folder that is no longer empty stays."""
    for parent, name in reversed(made):
        if not parent.remove_folder(name):
            return
