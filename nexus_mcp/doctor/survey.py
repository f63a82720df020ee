"""List `.nexus` recursively: the names with their kinds and stamps, without opening files.

The walk follows no link. The number of entries and the depth are bounded.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.errors import PathRefused, StorageError
from nexus_mcp.store.atomic import PREFIX
from nexus_mcp.store.folder import AT, close_fd, reason

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
    """A name in `.nexus`, of any kind. `path` starts at the project root and uses `/`. `stamp` changes with each write
    or replacement.

    `info` is the result of lstat.
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
    """The listing. `entries` are sorted by path.

    `temporary`: the first temporary files of the store that were found, sorted; `temporaries` counts all. `closed`:
    folders that cannot be listed, with the reason of the system. `truncated`: folders that were listed only in part or
    not at all, with the limit. `seen`: the number of names that were found.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    temporary: list[Entry] = field(default_factory=list)
    temporaries: int = 0
    closed: list[tuple[str, str]] = field(default_factory=list)
    truncated: list[tuple[str, str]] = field(default_factory=list)
    seen: int = 0

    @property
    def is_full(self) -> bool:
        return self.seen >= MAX_SEEN or len(self.entries) >= MAX_KEPT


def survey(nexus: Folder, most_temporary: int) -> Survey:
    """List `nexus` recursively, with at most `most_temporary` temporary files. A folder that cannot be listed raises no
    error: it is in the result.
    """
    walk = _Walk(most_temporary)
    walk.into(nexus, 0)
    walk.found.entries = dict(sorted(walk.found.entries.items()))
    walk.found.temporary.sort()
    return walk.found


class _Walk:
    """A depth-first walk; a folder stays open while its subfolders are walked."""

    def __init__(self, most_temporary: int) -> None:
        self.found = Survey()
        self._most_temporary = most_temporary

    def into(self, folder: Folder, depth: int) -> None:
        below: list[str] = []
        fd: int | None = None
        try:
            # Open a second descriptor: listing moves a descriptor's position, and the opening checks the search
            # permission.
            fd = folder.open(".", _OPEN) if AT else None
            if depth == 0:
                here = os.stat(folder.path if fd is None else fd)
                self.found.entries[folder.shown] = _entry(folder, fd, ".", here)
            with os.scandir(folder.path if fd is None else fd) as listing:
                for item in listing:
                    if self.found.is_full:
                        self.found.truncated.append((folder.shown, "has more files than doctor checks"))
                        break
                    if self._record(item, folder, fd):
                        below.append(item.name)
        except OSError as error:
            self.found.closed.append((folder.shown, reason(error)))
        finally:
            if fd is not None:
                close_fd(fd)
        for name in sorted(below):
            if depth >= MAX_DEPTH:
                problem = f"lies deeper than {MAX_DEPTH} levels, the limit of doctor"
                self.found.truncated.append((folder.show(name), problem))
                return
            self._descend(folder, name, depth)

    def _record(self, item: os.DirEntry[str], folder: Folder, fd: int | None) -> bool:
        """Record one name. Return whether it is a folder to walk into."""
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

    def _descend(self, folder: Folder, name: str, depth: int) -> None:
        try:
            child = folder.child(name)
        except PathRefused:
            return  # replaced meanwhile: the next pass reports it
        except StorageError as error:
            self.found.closed.append((folder.show(name), error.reason))
            return
        if child is not None:
            with child:
                self.into(child, depth + 1)


def _entry(folder: Folder, fd: int | None, name: str, info: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(info.st_mode), SPECIAL)
    stamp = (info.st_ino, info.st_mtime_ns, info.st_ctime_ns)
    # Use access(), not the mode bits: owners, groups, ACLs, root and read-only disks matter, too.
    plain = kind in (FILE, FOLDER) and _HAS_MODES
    allowed = [not plain or _may(folder, fd, name, right) for right in (os.R_OK, os.W_OK)]
    path = folder.shown if name == "." else folder.show(name)
    return Entry(path, kind, stat.S_IMODE(info.st_mode), info.st_size, stamp, info, *allowed)


def _may(folder: Folder, fd: int | None, name: str, right: int) -> bool:
    effective: dict[str, Any] = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    if fd is None or os.access not in os.supports_dir_fd:
        return os.access(os.path.join(folder.path, name), right, **effective)
    return os.access(name, right, dir_fd=fd, **effective)
