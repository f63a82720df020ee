"""Record the content of a folder, with digests of the files. Links are not followed, special files not opened."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from nexus_mcp.conformance import stopping
from nexus_mcp.conformance.failures import TargetFailure
from nexus_mcp.conformance.trial.emptying import FOLDER, mount_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Snapshot = dict[str, str]
"""Path with the separator / -> content: "folder", "-> target" for a link, the digest of a file, "large" with size and
time for a file that is not read, a text for something that may not be read, or "other" for a special file.
"""

DEEPEST = 64
"""The maximum depth of nested folders that are read."""
MOST_ENTRIES = 20_000
MOST_BYTES = 512 << 20
"""The maximum number of bytes that are read for one snapshot. A single file is read only if it has at most LARGEST_READ
bytes.
"""
MOST_PATHS = 4 << 20
"""The maximum number of characters of all paths and contents of a Snapshot together. It is a separate limit, because
paths of deeply nested folders are long.
"""
LARGEST_READ = 32 << 20

_CHUNK = 1 << 20
_LONGEST = 400


class TooMuch(TargetFailure):
    """The target left more than the runner reads."""

    def __init__(self, what: str) -> None:
        super().__init__(f"left a tree of more than {what}")


class _Folder(NamedTuple):
    fd: int
    path: str
    listed: int
    names: Iterator[str]


def snapshot(root: int, prefix: str = "") -> Snapshot:
    """Return everything below an open folder, with `prefix` before each path. Raise the errors of `entries`."""
    return dict(entries(root, prefix))


def entries(root: int, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, content) of each entry below an open folder: sorted by name, each folder before its entries.

    Raise TooMuch, TargetFailure for a mount, RunHalted when the work has to stop.
    """
    size = paths = 0
    mount = mount_of(root)
    stack = [_open_folder(".", root, prefix, MOST_ENTRIES)]
    room = MOST_ENTRIES - stack[0].listed
    try:
        while stack:
            stopping.check()
            folder = stack[-1]
            name = next(folder.names, None)
            if name is None:
                os.close(stack.pop().fd)
                continue
            # An entry that disappears before it is read counts as absent, a folder that disappears later as empty.
            with suppress(FileNotFoundError, NotADirectoryError):
                what, bytes_read = _what(name, folder.fd)
                size += bytes_read
                paths += len(folder.path) + len(name) + len(what)
                if paths > MOST_PATHS:
                    raise TooMuch(f"{MOST_PATHS >> 20} MiB in names")
                yield folder.path + name, what
                if what == "folder":
                    if len(stack) > DEEPEST:
                        raise TooMuch(f"{DEEPEST} nested folders")
                    with suppress(PermissionError):
                        stack.append(_open_folder(name, folder.fd, f"{folder.path}{name}/", room))
                        room -= stack[-1].listed
                        if mount_of(stack[-1].fd) != mount:
                            raise TargetFailure(f"mounted a file system at {folder.path}{name}"[:_LONGEST])
            if size > MOST_BYTES:
                raise TooMuch(f"{MOST_BYTES >> 20} MiB in files")
    finally:
        for folder in stack:
            os.close(folder.fd)


def changed_paths(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the paths that are new, gone or different."""
    return sorted(path for path in {**before, **after} if before.get(path) != after.get(path))


def part(whole: Snapshot, path: str) -> Snapshot:
    """Return the entries at a path and below it."""
    return {name: what for name, what in whole.items() if name == path or name.startswith(f"{path}/")}


def digest(content: bytes) -> str:
    """Return the content, in a Snapshot, of a file with these bytes."""
    return hashlib.sha256(content).hexdigest()


def _open_folder(name: str, parent: int, path: str, room: int) -> _Folder:
    """Open a folder and list it. Raise TooMuch when it has more than `room` entries."""
    fd = os.open(name, FOLDER, dir_fd=parent)
    try:
        with os.scandir(fd) as found:
            names = sorted(entry.name for entry in islice(found, room + 1))
        if len(names) > room:
            raise TooMuch(f"{MOST_ENTRIES} entries")
    except BaseException:
        os.close(fd)
        raise
    return _Folder(fd, path, len(names), iter(names))


def _what(name: str, folder: int) -> tuple[str, int]:
    """Return the content, in a Snapshot, of the entry `name` of a folder, and the number of bytes that were read."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except PermissionError:
        return "something that may not be read", 0
    if stat.S_ISLNK(status.st_mode):
        return f"-> {os.readlink(name, dir_fd=folder)}", 0
    if stat.S_ISDIR(status.st_mode):
        return "folder", 0
    if not stat.S_ISREG(status.st_mode):
        return "other", 0
    if status.st_size > LARGEST_READ:
        return f"large: {status.st_size} bytes, changed at {status.st_mtime_ns}", 0
    hashed = hashlib.sha256()
    size = 0
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except PermissionError:
        return "a file that may not be read", 0
    with os.fdopen(fd, "rb") as file:
        # The file may be growing.
        while size <= LARGEST_READ and (chunk := file.read(_CHUNK)):
            hashed.update(chunk)
            stopping.check()
            size += len(chunk)
    return hashed.hexdigest(), size
