"""The index of the notes: path and tags of each, from the first bytes of its file.

Nothing is cached and no lock is taken: one listing a folder and one short read a note, some 20 µs each.
A note is only ever replaced whole by us, and whatever an editor does meanwhile is seen the next time.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import NexusError, PathRefused, StateError, StorageError
from nexus_mcp.knowledge import tag_line
from nexus_mcp.quoting import fault
from nexus_mcp.store.opening import let_go, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

KINDS = ("context", "memory", "rules")
SUFFIX = ".md"
MOST_NOTES = 10_000
"""In one folder. With more, listing them is no use to anybody."""
_MOST_NAMES = 2 * MOST_NOTES
"""In one folder, those of other files included."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # a pipe of that name must not keep us waiting
_ADVICE = "Look at what was put there and why; move it away yourself if it is not needed, then call again."


def index(nexus: Folder | None, faults: list[str] | None = None) -> list[dict[str, Any]]:
    """What notes there are: [{"path": "memory/x.md", "kind": "memory", "tags": [str], "size": bytes}], by path.

    `nexus` is the folder `.nexus`; None, and a folder that is absent, have none. Raises PathRefused for a link or a
    special file, StorageError, and StateError for more than MOST_NOTES in a folder. With `faults` given these texts
    are put there instead, the paths in them quoted, and the notes that can be had are returned.
    """
    found: list[dict[str, Any]] = []
    if nexus is None:
        return found
    for kind in KINDS:
        try:
            found += notes_of(nexus, kind, faults)
        except NexusError as error:
            if faults is None:
                raise
            faults.append(fault(error))
    return found


def notes_of(nexus: Folder, kind: str, faults: list[str] | None = None) -> list[dict[str, Any]]:
    """The part of `index` that is about the folder `kind`. Raises as it does."""
    folder = nexus.child(kind)
    if folder is None:
        return []
    with folder:
        found = []
        for name in names_of(folder):
            try:
                seen = head(folder, name)
            except NexusError as error:
                if faults is None:
                    raise
                faults.append(fault(error))
                continue
            if seen is not None:
                tags = tag_line.read(seen[0])
                found.append({"path": f"{kind}/{name}", "kind": kind, "tags": tags, "size": seen[1]})
        return found


def names_of(folder: Folder) -> list[str]:
    """The names of the notes in an open folder, in order. Raises StorageError, and StateError for too many."""
    there = folder.names(_MOST_NAMES)
    if len(there) > _MOST_NAMES:
        raise StateError(folder.shown, f"has more than the {_MOST_NAMES} names that are looked at")
    names = sorted(name for name in there if name.endswith(SUFFIX) and not name.startswith("."))
    if len(names) > MOST_NOTES:
        raise StateError(folder.shown, f"has {len(names)} notes, more than the {MOST_NOTES} that are listed")
    return names


def head(folder: Folder, name: str) -> tuple[bytes, int] | None:
    """(the first bytes of a note, its size); None when it went meanwhile. Raises PathRefused, StorageError."""
    try:
        fd = folder.open(name, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(folder.show(name), "read", reason(error)) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise PathRefused(folder.show(name), "is no file, where a note belongs", next_step=_ADVICE)
        return os.read(fd, tag_line.FIRST_BYTES), info.st_size
    except OSError as error:
        raise StorageError(folder.show(name), "read", reason(error)) from error
    finally:
        let_go(fd)
