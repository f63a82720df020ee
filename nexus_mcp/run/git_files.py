"""Read refs, hooks and the index of a repository from its files: to start git for each read would cost more.

The module uses only documented files of git. If refs are not files, the callers start git to read them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import time
from dataclasses import dataclass

from nexus_mcp.errors import StorageError
from nexus_mcp.run.git import Git
from nexus_mcp.store.folder import reason

COMMIT_HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    *("post-index-change", "reference-transaction"),
)
"""Hooks that `git commit` runs."""
RUN_REFS = "refs/heads/nexus/"
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SMALL = 4096
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_SETTLED_S = 0.1
"""Seconds within which two changes of a file may get the same time, because the file system's clock is coarse."""


@dataclass(frozen=True, slots=True)
class Folders:
    """Git's folders: `common` of all worktrees, and `own` of the user's checkout."""

    common: str
    own: str

    @property
    def has_ref_files(self) -> bool:
        """Return whether refs are files, not a reftable."""
        return not os.path.isdir(os.path.join(self.common, "reftable"))

    def ref(self, name: str) -> str | None:
        """Return the commit of a ref, "" if there is none; None if only git can read it. Raise StorageError."""
        if not self.has_ref_files or ".." in name:
            return None
        found = text_if_there(os.path.join(self.common, name)).strip()
        if not found:
            found = _parse_packed(text_if_there(os.path.join(self.common, "packed-refs"), limit=-1)).get(name, "")
        return found if not found or _HEX.fullmatch(found) else None

    def refs(self) -> dict[str, str]:
        """Return all refs with their values, except those of runs; the value of a symbolic ref names its target.

        Raise StorageError: a ref that cannot be read may have been changed.
        """
        own: dict[str, str] = {}
        for folder in dict.fromkeys((self.common, self.own)):
            for path in _files(os.path.join(folder, "refs")):
                value = text_if_there(path).strip()
                if value or os.path.lexists(path):
                    own[os.path.relpath(path, folder)] = value
        # Read packed-refs after the files of single refs: `git gc` removes such a file only after it packed the ref.
        packed = _parse_packed(text_if_there(os.path.join(self.common, "packed-refs"), limit=-1))
        return {name: value for name, value in {**packed, **own}.items() if not name.startswith(RUN_REFS)}


_FOLDERS: dict[str, Folders] = {}
_HOOKS: dict[str, tuple[tuple[object, ...], str]] = {}
_INDEXES: dict[str, tuple[tuple[int, ...], str]] = {}


async def folders(root: str) -> Folders:
    """Return git's folders of a checkout, which never change. Raise GitFailed."""
    if root not in _FOLDERS:
        common, own = (await Git(root).out("rev-parse", "--git-common-dir", "--git-dir")).split("\n")
        _FOLDERS[root] = Folders(os.path.join(root, common), os.path.join(root, own))
    return _FOLDERS[root]


async def has_commit_hooks(root: str) -> bool:
    """Return whether a commit in a worktree of the repository may run a hook. Raise GitFailed.

    If the folder of the hooks is not in git's own folder, the result is always True.
    """
    found = await folders(root)
    configs = (os.path.join(found.common, "config"), *global_config_files())
    stamp = tuple(signature(path) for path in configs)
    if _HOOKS.get(root, ((), ""))[0] != stamp:
        path = await Git(root, hooks=True).out("rev-parse", "--git-path", "hooks")
        _HOOKS[root] = (stamp, os.path.join(root, path))
    folder = _HOOKS[root][1]
    # If the hooks are in the tree, the worktree of an attempt may have others.
    is_tracked = not folder.startswith(os.path.join(found.common, ""))
    return is_tracked or any(os.access(os.path.join(folder, name), os.X_OK) for name in COMMIT_HOOKS)


async def index_digest(root: str) -> str:
    """Return a digest of the entries of the index of a checkout. Raise GitFailed.

    The entries are read again only if the file of the index changed since the last call or shortly before it.
    """
    path = os.path.join((await folders(root)).own, "index")
    before = signature(path)
    if before and _INDEXES.get(root, ((), ""))[0] == before:
        return _INDEXES[root][1]
    entries = await Git(root).out("ls-files", "--stage")
    found = hashlib.sha256(entries.encode("utf-8", "surrogateescape")).hexdigest()
    is_settled = bool(before) and time.time_ns() - max(before[-2:]) > _SETTLED_S * 1e9
    if is_settled and signature(path) == before:
        _INDEXES[root] = (before, found)
    return found


def global_config_files() -> list[str]:
    """Return the paths of the user's own configuration and attributes of git, by which git can start programs."""
    home = os.path.expanduser("~")
    folder = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    own = [named] if named else [os.path.join(home, ".gitconfig"), os.path.join(folder, "config")]
    return [*own, os.path.join(folder, "attributes")]


def signature(path: str) -> tuple[int, ...]:
    """Return device, inode, size and times of a file; () if it is absent or cannot be examined.

    A change alters them, unless the file was changed already less than `_SETTLED_S` before.
    """
    try:
        info = os.stat(path)
    except OSError:
        return ()
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _parse_packed(text: str) -> dict[str, str]:
    rows = (line.partition(" ") for line in text.split("\n") if line and line[0] not in "#^")
    return {name: value for value, _, name in rows}


def _files(folder: str) -> list[str]:
    """Return the files in and below a folder, except locks and the refs of runs. Raise StorageError."""
    found: list[str] = []
    for entry in entries_if_there(folder):
        if not entry.is_dir(follow_symlinks=False):
            found += [] if entry.name.endswith(".lock") else [entry.path]
        elif not entry.path.endswith(RUN_REFS[:-1]):
            found += _files(entry.path)
    return found


def entries_if_there(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, [] if there is none. Raise StorageError if it cannot be read."""
    try:
        return list(os.scandir(folder))
    except _ABSENT:
        return []
    except OSError as error:
        raise StorageError(folder, "read", reason(error)) from error


def text_of(path: str, limit: int = -1) -> str:
    """Return the text of a file, at most `limit` bytes of it unless that is negative.

    Raise OSError. Only plain files are read: to open a pipe that an attempt put there would never return.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", path)
        return file.read(limit).decode("utf-8", "surrogateescape")


def text_if_there(path: str, limit: int = _SMALL) -> str:
    """Return the text of a file as `text_of` does, "" if there is no file or a folder in its place.

    Raise StorageError if it cannot be read or is no plain file.
    """
    try:
        return text_of(path, limit)
    except _ABSENT:
        return ""
    except OSError as error:
        raise StorageError(path, "read", reason(error)) from error
