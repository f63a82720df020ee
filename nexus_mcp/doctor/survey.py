"""What lies in `.nexus`: every name with its kind and its stamp, and nothing of what is inside the files.

No link is followed, nothing is opened but folders, and however much there is, only so much of it is kept.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.errors import PathRefused, StorageError
from nexus_mcp.store.atomic import PREFIX
from nexus_mcp.store.folder import AT
from nexus_mcp.store.opening import let_go, reason

if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder

FILE = "a file"
FOLDER = "a folder"
LINK = "a symbolic link"
SPECIAL = "a special file"
MAX_KEPT = 100_000
MAX_SEEN = 1_000_000
MAX_DEPTH = 40
_KINDS = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: LINK}
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_HAS_MODES = os.name == "posix"


class Entry(NamedTuple):
    """`path` from the project root, with `/`. `stamp` is another when the file was replaced or written to.

    `info` is what the system says of the file or folder itself.
    """

    path: str
    kind: str
    mode: int
    size: int
    stamp: tuple[int, ...]
    info: os.stat_result
    readable: bool
    writable: bool

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass
class Survey:
    """`entries` by path, in order. `temporary`: the store's own temporary files, the first of them; `temporaries`
    counts all. `closed`: folders that could not be looked into, and the system's reason. `cut`: where not everything
    was looked at, and why."""

    entries: dict[str, Entry] = field(default_factory=dict)
    temporary: list[Entry] = field(default_factory=list)
    temporaries: int = 0
    closed: list[tuple[str, str]] = field(default_factory=list)
    cut: list[tuple[str, str]] = field(default_factory=list)
    seen: int = 0

    @property
    def is_full(self) -> bool:
        return self.seen >= MAX_SEEN or len(self.entries) >= MAX_KEPT


def survey(nexus: Folder, most_temporary: int) -> Survey:
    """Everything in `nexus` and below. Raises nothing: what cannot be looked at is in the result."""
    walk = _Walk(most_temporary)
    walk.into(nexus, 0)
    walk.found.entries = dict(sorted(walk.found.entries.items()))
    walk.found.temporary.sort()
    return walk.found


class _Walk:
    """A way through the folders, each open while those in it are walked: no deeper than MAX_DEPTH."""

    def __init__(self, most_temporary: int) -> None:
        self.found = Survey()
        self._most_temporary = most_temporary

    def into(self, folder: Folder, depth: int) -> None:
        below: list[str] = []
        fd: int | None = None
        try:
            # Opened anew: reading a folder moves its position, and this tells whether it can be searched, too.
            fd = folder.open(".", _OPEN) if AT else None
            if depth == 0:
                here = os.stat(folder.path if fd is None else fd)
                self.found.entries[folder.shown] = _entry(folder, fd, ".", here)
            with os.scandir(folder.path if fd is None else fd) as listing:
                for item in listing:
                    if self.found.is_full:
                        self.found.cut.append((folder.shown, "holds more than is looked at"))
                        break
                    if self._takes(item, folder, fd):
                        below.append(item.name)
        except OSError as error:
            self.found.closed.append((folder.shown, reason(error)))
        finally:
            if fd is not None:
                let_go(fd)
        for name in sorted(below):
            if depth >= MAX_DEPTH:
                problem = f"lies deeper than the {MAX_DEPTH} levels that are looked at"
                self.found.cut.append((folder.show(name), problem))
                return
            self._down(folder, name, depth)

    def _takes(self, item: os.DirEntry[str], folder: Folder, fd: int | None) -> bool:
        """Take note of one name; whether it is a folder to walk into."""
        self.found.seen += 1
        is_temporary = item.name.startswith(PREFIX) and item.is_file(follow_symlinks=False)
        if is_temporary:
            self.found.temporaries += 1
            if len(self.found.temporary) >= self._most_temporary:
                return False
        try:
            entry = _entry(folder, fd, item.name, item.stat(follow_symlinks=False))
        except FileNotFoundError:
            return False
        if is_temporary:
            self.found.temporary.append(entry)
        else:
            self.found.entries[entry.path] = entry
        return entry.kind == FOLDER

    def _down(self, folder: Folder, name: str, depth: int) -> None:
        try:
            child = folder.child(name)
        except PathRefused:
            return  # something else by now; the next look will tell
        except StorageError as error:
            self.found.closed.append((folder.show(name), error.reason))
            return
        if child is not None:
            with child:
                self.into(child, depth + 1)


def _entry(folder: Folder, fd: int | None, name: str, info: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(info.st_mode), SPECIAL)
    stamp = (info.st_ino, info.st_mtime_ns, info.st_ctime_ns)
    # Permission bits say little about a right: there are owners, groups, lists, root, and read-only disks.
    plain = kind in (FILE, FOLDER) and _HAS_MODES
    allowed = [not plain or _may(folder, fd, name, right) for right in (os.R_OK, os.W_OK)]
    path = folder.shown if name == "." else folder.show(name)
    return Entry(path, kind, stat.S_IMODE(info.st_mode), info.st_size, stamp, info, *allowed)


def _may(folder: Folder, fd: int | None, name: str, right: int) -> bool:
    effective: dict[str, Any] = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    if fd is None or os.access not in os.supports_dir_fd:
        return os.access(os.path.join(folder.path, name), right, **effective)
    return os.access(name, right, dir_fd=fd, **effective)
