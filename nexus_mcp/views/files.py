"""The views `artifacts` and `notes`: lists of these files, and the content of one file. No link is followed."""

from __future__ import annotations

import stat
from contextlib import ExitStack

from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.knowledge import index, notes
from nexus_mcp.state import artifact_name, times
from nexus_mcp.store import atomic, paths
from nexus_mcp.views import VERSION, fault_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

MOST_FILES = 1000
"""The maximum number of artifacts in the list."""
LARGEST = 8 << 20
"""The maximum size in bytes of an artifact that is read."""


def artifacts(store: Store) -> dict[str, Any]:
    """Return `version`, `files`, `more` and `faults`.

    A file has `name` (its path below the folder of artifacts), `bytes` and `modified` (a stamp); the newest comes
    first. `more`: there are more than MOST_FILES files, or one folder has more entries. Then files may be missing, also
    newer ones. Links, special files and files whose names `artifact` refuses are left out. Raise PathRefused,
    StorageError.
    """
    found: list[dict[str, Any]] = []
    faults: list[FaultRow] = []
    is_whole = True
    with store.state_as_it_is() as state:
        if state is not None and state.look(paths.ARTIFACTS) is not None:
            is_whole = _collect(state, paths.ARTIFACTS, "", found, faults)
    found.sort(key=lambda file: (file["modified"], file["name"]), reverse=True)
    more = not is_whole or len(found) > MOST_FILES
    return {"version": VERSION, "files": found[:MOST_FILES], "more": more, "faults": faults}


def _collect(above: Folder, name: str, prefix: str, found: list[dict[str, Any]], faults: list[FaultRow]) -> bool:
    """Add the files of a folder to `found`; return False if some of its entries were not looked at."""
    is_whole = True
    try:
        folder = above.child(name)
        if folder is None:
            return True
        with folder:
            names = folder.names(MOST_FILES)
            is_whole = len(names) <= MOST_FILES
            for one in sorted(names):
                if len(found) > MOST_FILES:
                    return False
                path = f"{prefix}{one}"
                seen = folder.look(one)
                if seen is None or not _is_name(path):
                    continue
                if stat.S_ISDIR(seen.st_mode):
                    is_whole &= _collect(folder, one, f"{path}/", found, faults)
                elif stat.S_ISREG(seen.st_mode):
                    found.append({"name": path, "bytes": seen.st_size, "modified": times.stamp(seen.st_mtime)})
    except NexusError as error:
        faults.append(fault_row(error))
    return is_whole


def _is_name(path: str) -> bool:
    try:
        artifact_name.segments(path, atomic.PREFIX)
    except NexusError:
        return False
    return True


def artifact(store: Store, name: str) -> bytes:
    """Return the bytes of an artifact. Raise UsageError if there is none, PathRefused for a link or an invalid name,
    StateError if it has more than LARGEST bytes, StorageError.
    """
    artifact_name.segments(name, atomic.PREFIX)
    with store.state_as_it_is() as state, ExitStack() as stack:
        folder, last = (None, "") if state is None else paths.find(stack, state, f"{paths.ARTIFACTS}/{name}")
        data = None if folder is None else folder.read(last, LARGEST)
    if data is None:
        raise UsageError("There is no such artifact.", next_step="It may have been removed: look at the list.")
    return data


def note_list(store: Store) -> dict[str, Any]:
    """Return `version`, `notes` (each with `path`, `kind`, `tags` and `size` in bytes) and `faults` (texts)."""
    faults: list[str] = []
    try:
        with store.nexus() as nexus:
            found = index.index(nexus, faults)
    except NexusError as error:
        found, faults = [], [error.fault]
    # Leave out notes whose names `note` refuses, such as a name that is not UTF-8: these notes have no address.
    named = [one for one in found if _is_name(one["path"].partition("/")[2])]
    return {"version": VERSION, "notes": named, "faults": faults}


def note(store: Store, path: str) -> str:
    """Return the text of the note at `path`, such as memory/x.md. Raise UsageError if no note has this path,
    PathRefused for a link, StorageError, StateError.
    """
    kind, _, name = path.partition("/")
    known = kind in index.KINDS and "/" not in name and name.endswith(index.SUFFIX) and _is_name(name)
    if known:
        with store.nexus() as nexus:
            text = notes.read(nexus, kind, name)
            if text is not None:
                return text
    raise UsageError("There is no such note.", next_step="It may have been removed: look at the list.")
