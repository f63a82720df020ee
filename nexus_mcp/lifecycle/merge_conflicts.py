"""Find the files that git has not merged yet, by reading the index of git: a hook starts no process.

An agent that edits such a file by chance may resolve a conflict without knowing it. If the index cannot be read during
a merge, a file with conflict markers counts as unmerged.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.workspace import git_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SOON = 4 << 20
"""Largest index, in bytes, that is read even if no merge is in progress: about 40 000 files."""
_LARGEST = 64 << 20
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""Names in the folder of git during a merge, cherry-pick, revert or rebase; a conflict of `git stash pop` has none."""
_SIGNATURE = b"DIRC"
_HEADER, _FIXED = 12, 62
_NAME = 1 << 14
"""Maximum bytes of a name in an index: git takes no path of more than 4096."""
_MARKED = 1 << 20
"""Bytes at the beginning of a file that are searched for conflict markers."""


class Conflicts:
    """The unmerged files of a repository.

    `names` are their paths from the folder `top`, None if the index cannot be read; `is_merging` says that a merge,
    cherry-pick, revert or rebase is in progress.
    """

    __slots__ = ("is_merging", "names", "top")

    def __init__(self, top: str, names: list[str] | None, *, is_merging: bool) -> None:
        self.top = top
        self.names = names
        self.is_merging = is_merging


def find_conflicts(root: str) -> Conflicts:
    """Return the unmerged files of the repository around `root`. Raise StorageError."""
    folders = git_folders(root)
    if folders is None:
        return Conflicts(root, [], is_merging=False)
    top, git = folders
    is_merging = any(os.path.lexists(os.path.join(git, name)) for name in _UNDER_WAY)
    data = _read(os.path.join(git, "index"), _LARGEST if is_merging else SOON)
    try:
        names = None if data is None else list(dict.fromkeys(_unmerged_names(data)))
    except (ValueError, IndexError):
        names = None
    return Conflicts(top, names, is_merging=is_merging)


def is_conflicted(conflicts: Conflicts, place: str) -> bool:
    """Return whether a file has an unresolved conflict. `place` is its absolute path, with links resolved."""
    if conflicts.names is None:
        return conflicts.is_merging and has_markers(place)
    return os.path.relpath(place, conflicts.top).replace(os.sep, "/") in conflicts.names


def may_be_conflicted(root: str, place: str) -> bool:
    """Return whether to read the index: a merge is in progress, or the file has conflict markers.

    Raise StorageError.
    """
    folders = git_folders(root)
    if folders is None:
        return False
    return any(os.path.lexists(os.path.join(folders[1], name)) for name in _UNDER_WAY) or has_markers(place)


def has_markers(place: str) -> bool:
    """Return whether the file has the markers of a conflict."""
    data = _read(place, _MARKED, is_whole=False)
    return data is not None and all(mark in b"\n" + data for mark in (b"\n<<<<<<< ", b"\n=======", b"\n>>>>>>> "))


def _read(path: str, limit: int, *, is_whole: bool = True) -> bytes | None:
    """Return up to `limit` bytes of a plain file; None for any other and, with `is_whole`, for a larger file."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or (is_whole and info.st_size > limit):
            return None
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(fd)


def _unmerged_names(data: bytes) -> Iterator[str]:
    """Yield the names with a stage above 0 in an index of version 2, 3 or 4 (gitformat-index).

    Raise ValueError or IndexError for any other data.
    """
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != _SIGNATURE or version not in (2, 3, 4):
        raise ValueError("no index")
    at, name = _HEADER, b""
    for _ in range(count):
        high = data[at + 60]
        start = at + _FIXED + 2 * bool(high & 0x40)
        if version == 4:
            strip, start = _varint(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - strip] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end] if high & 0x30 else b""
            at += (end - at + 8) & ~7
        if len(name) > _NAME:
            raise ValueError("no index of git")
        if high & 0x30:
            yield os.fsdecode(name)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
