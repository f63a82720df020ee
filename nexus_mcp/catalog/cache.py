"""What the own files of a project came to, kept in `.nexus/state/cache/catalog.json`: nobody parses YAML twice.

It counts only for files of the same size, times and inode, and only where it was written: it names its own inode, so
that one that came with a repository is not believed. Never needed; it may be deleted at any time. Made only where there
is a `.nexus/state` already, because reading makes nothing.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from nexus_mcp.catalog.sources import BODY, KINDS, META, named
from nexus_mcp.errors import NexusError
from nexus_mcp.packaged import data_path
from nexus_mcp.store.folder import let_go

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

    Seen = list[list[str | int]]

NAME, FOLDER = "catalog.json", "cache"
MAP = "capability-map.yml"
LIMIT = 4 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def identities(nexus: Folder) -> Seen:
    """[path, size, mtime, ctime, inode] of every file that a project may have of its own; empty when there is none.

    Those that an entry lacks are there with zeros.
    """
    paths = [MAP]
    for kind in KINDS:
        folder = nexus.child(kind)
        if folder is not None:
            with folder:
                paths += [f"{kind}/{name}/{file}" for name in named(folder) for file in (META, BODY)]
    seen: Seen = []
    for path in paths:
        try:
            info = os.stat(os.path.join(nexus.path, *path.split("/")), follow_symlinks=False)
            seen.append([path, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino])
        except OSError:
            if path != MAP:  # an entry without files is a fault, which has to be told
                seen.append([path, 0, 0, 0, 0])
    return seen


def read(nexus: Folder, seen: Seen) -> dict[str, Any] | None:
    """What was kept for these files by this version of the shipped catalog; None when there is nothing."""
    try:
        folder = _folder(nexus)
        if folder is None:
            return None
        with folder:
            info = os.stat(os.path.join(folder.path, NAME), follow_symlinks=False)
            data = folder.read(NAME, LIMIT)
            kept = json.loads(data or b"null")
            own: dict[str, Any] = kept["own"]
            return own if kept["for"] == _key(seen, info.st_dev, info.st_ino) else None
    except (OSError, NexusError, ValueError, KeyError, TypeError):
        return None


def write(nexus: Folder, seen: Seen, own: dict[str, Any]) -> None:
    """Keep what these files came to. A failure changes nothing: it is made again next time."""
    with suppress(OSError, NexusError):
        state = nexus.child("state")
        if state is None:
            return
        with state, state.make(FOLDER)[0] as folder:
            temporary = f"catalog-{os.urandom(8).hex()}.new"
            fd = folder.open(temporary, _NEW)
            try:
                info = os.fstat(fd)
                text = json.dumps({"for": _key(seen, info.st_dev, info.st_ino), "own": own}, ensure_ascii=False)
                with os.fdopen(os.dup(fd), "wb") as file:
                    file.write(text.encode())
                folder.rename(temporary, NAME)
            except BaseException:
                folder.unlink(temporary)
                raise
            finally:
                let_go(fd)


def _folder(nexus: Folder) -> Folder | None:
    state = nexus.child("state")
    if state is None:
        return None
    with state:
        return state.child(FOLDER)


def _key(seen: Seen, *itself: int) -> list[Any]:
    shipped = os.stat(data_path("assets", NAME))
    return [seen, [shipped.st_size, shipped.st_mtime_ns], list(itself)]
