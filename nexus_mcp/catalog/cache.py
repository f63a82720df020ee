"""What the own files of a project came to, kept in `.nexus/state/cache/catalog.json`: nobody parses YAML twice.

Beside it, in catalog-rows.json, is what each file came to, for when only some of them changed, or a hook was killed
before it had read them all (rows.py).

Each counts only for files of the same size, times and inode, and only as it was written: it names its own inode and
time, so that one that came with a repository, or was changed since, is not believed; nor is one that cannot be right
(kept.py). Never needed; it may be deleted at any time. Made only where there is a `.nexus/state` already, because
reading makes nothing.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

from nexus_mcp.catalog.kept import is_sound
from nexus_mcp.catalog.rows import is_rows
from nexus_mcp.catalog.sources import BODY, KINDS, MAP, META, named
from nexus_mcp.errors import CatalogError, NexusError
from nexus_mcp.packaged import data_path
from nexus_mcp.store.opening import let_go

try:
    import fcntl
except ImportError:  # Windows, where whoever has a file open is in the way of its removal
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

    Seen = list[list[str | int]]

NAME, ROWS, FOLDER = "catalog.json", "catalog-rows.json", "cache"
LIMIT = 4 << 20
_SPAN = 2_000_000_000  # nanoseconds: what FAT keeps
_BEGUN, _UNFINISHED = "catalog-", ".new"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


def identities(nexus: Folder) -> Seen | None:
    """[path, size, mtime, ctime, inode] of every file that a project may have of its own; empty when there is none.

    None when they cannot be listed; a folder with too many entries is there by its own name, without any of them. Those
    that an entry lacks are there with zeros, and the entry itself with its mode in the place of the size.
    """
    paths = [MAP]
    try:
        for kind in KINDS:
            folder = nexus.child(kind)
            if folder is not None:
                with folder:
                    try:
                        names = named(folder)
                    except CatalogError:
                        paths.append(kind)
                        continue
                    for name in names:
                        paths += [f"{kind}/{name}", f"{kind}/{name}/{META}", f"{kind}/{name}/{BODY}"]
    except NexusError:
        return None
    seen: Seen = []
    for path in paths:
        try:
            info = os.stat(os.path.join(nexus.path, *path.split("/")), follow_symlinks=False)
        except OSError:
            if path != MAP:  # an entry without files is a fault, which has to be told
                seen.append([path, 0, 0, 0, 0])
            continue
        if path in KINDS:
            seen.append([path, 0, 0, 0, 0])
        elif _is_entry(path):
            seen.append([path, info.st_mode, 0, 0, info.st_ino])
        else:
            seen.append([path, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino])
    return seen


def by_entry(seen: Seen) -> dict[str, Seen]:
    """The same by entries: those of its files, and of itself, for each; the map is one, too."""
    found: dict[str, Seen] = {}
    for row in seen:
        found.setdefault("/".join(str(row[0]).split("/")[:2]), []).append(row)
    return found


def read(nexus: Folder, seen: Seen, shipped: dict[str, Any]) -> dict[str, Any] | None:
    """What was kept for these files by this version of the shipped catalog; None when there is nothing."""
    own = _read(nexus, NAME, seen)
    try:
        return own if own is not None and is_right(own, seen, shipped) else None
    except (TypeError, KeyError, AttributeError, RecursionError):
        return None


def is_right(own: dict[str, Any], seen: Seen, shipped: dict[str, Any]) -> bool:
    """Whether these files may have come to that. Raises TypeError, KeyError, AttributeError for what is no catalog."""
    paths = [str(row[0]) for row in seen]
    names = {
        kind: None
        if kind in paths
        else {path[len(kind) + 1 :] for path in paths if path.startswith(f"{kind}/") and _is_entry(path)}
        for kind in KINDS
    }
    return is_sound(own, shipped, names, has_map=MAP in paths)


def read_rows(nexus: Folder) -> dict[str, Any]:
    """What each file came to when it was read last (rows.py); {} when nothing is kept."""
    rows = _read(nexus, ROWS, [])
    return rows if rows is not None and is_rows(rows) else {}


def write_rows(nexus: Folder, rows: dict[str, Any]) -> None:
    """Keep what each file came to. A failure changes nothing."""
    write(nexus, [], rows, ROWS)


def _read(nexus: Folder, name: str, seen: Seen) -> Any:
    try:
        folder = _folder(nexus)
        if folder is None:
            return None
        with folder:
            info = os.stat(os.path.join(folder.path, name), follow_symlinks=False)
            data = folder.read(name, LIMIT)
        kept = json.loads(data or b"null")
        return kept["own"] if kept["for"] == _key(seen, info.st_dev, info.st_ino, info.st_mtime_ns) else None
    except (OSError, NexusError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write(nexus: Folder, seen: Seen, own: dict[str, Any], name: str = NAME) -> None:
    """Keep what these files came to. A failure changes nothing: it is made again next time."""
    with suppress(OSError, NexusError):
        state = nexus.child("state")
        if state is None:
            return
        with state, state.make(FOLDER)[0] as folder:
            temporary = f"{_BEGUN}{os.urandom(8).hex()}{_UNFINISHED}"
            fd = folder.open(temporary, _NEW)
            try:
                with suppress(OSError):  # a file system without locks
                    _claim(fd)
                info = os.fstat(fd)
                at = _whole(info.st_mtime_ns)
                # In ASCII: the name of a folder may be no text.
                text = json.dumps({"for": _key(seen, info.st_dev, info.st_ino, at), "own": own})
                with os.fdopen(os.dup(fd), "wb") as file:
                    file.write(text.encode())
                os.utime(fd if os.utime in os.supports_fd else os.path.join(folder.path, temporary), ns=(at, at))
                folder.rename(temporary, name)
            except BaseException:
                folder.unlink(temporary)
                raise
            finally:
                let_go(fd)
            _sweep(folder)


def _claim(fd: int) -> None:
    """Take a lock on an open file, which goes with the descriptor. Raises OSError when somebody else has it."""
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(folder: Folder) -> None:
    """Remove what was begun by processes that died. What somebody writes stays: it is locked."""
    for name in folder.names():
        if name.startswith(_BEGUN) and name.endswith(_UNFINISHED):
            with suppress(OSError, NexusError):
                fd = folder.open(name, _READ)
                try:
                    if stat.S_ISREG(os.fstat(fd).st_mode):
                        _claim(fd)
                        folder.unlink(name)
                finally:
                    let_go(fd)


def _is_entry(path: str) -> bool:
    return path.count("/") == 1


def _whole(at: int) -> int:
    """A time that every file system can hold, and that no later change of the file leaves as it is."""
    return at - at % _SPAN - _SPAN


def _folder(nexus: Folder) -> Folder | None:
    state = nexus.child("state")
    if state is None:
        return None
    with state:
        return state.child(FOLDER)


def _key(seen: Seen, *itself: int) -> list[Any]:
    shipped = os.stat(data_path("assets", NAME))
    return [seen, [shipped.st_size, shipped.st_mtime_ns], list(itself)]
