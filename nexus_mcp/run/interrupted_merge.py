"""Put the user's checkout back after git stopped within a fast-forward, for example because the disk was full.

git writes the files before it moves the branch. If it stops in between, new and incomplete files are in the checkout,
and look like changes of the user. So the intent is written to disk before the move. Only files that git has written or
removed for the move are put back: a missing file, or a file whose content is the beginning of the new content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nexus_mcp.errors import StorageError
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.run_folder import read_json, write_json
from nexus_mcp.run.worktrees import Repository
from nexus_mcp.store.folder import Folder

INTENT = "merge.json"
_REPOSITORY = "160000"
_ADDED = "A"


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs between two commits: `kind` is git's letter, `mode` the file mode in the new one."""

    path: str
    kind: str
    mode: str


async def begin(repository: Repository, folder: Folder, old: str, new: str) -> None:
    """Write the intent to move the current branch from `old` to `new`. Raise GitFailed, StorageError.

    Its field `there` lists the existing paths that git would add: they belong to the user.
    """
    added = [one.path for one in await _changes(repository.git, old, new) if one.kind == _ADDED]
    there = [path for path in added if os.path.lexists(os.path.join(repository.root, path))]
    write_json(folder, INTENT, {"old": old, "new": new, "there": there})


def is_begun(folder: Folder) -> bool:
    """Return whether the folder has the intent of a move: `end` did not remove it. Raise StorageError."""
    return folder.look(INTENT) is not None


def end(folder: Folder) -> None:
    """Remove the intent. Raise StorageError, OSError."""
    if is_begun(folder):
        folder.unlink(INTENT)


async def put_back(repository: Repository, folder: Folder) -> list[str]:
    """Put back the files of an interrupted fast-forward. Return the paths that cannot be put back now.

    Do nothing without an intent. If the branch has moved, only remove the intent. Raise GitFailed, StorageError,
    PathRefused, OSError.
    """
    if not is_begun(folder):
        return []
    intent = read_json(folder, INTENT)
    if not _is_intent(intent):  # without a valid intent, the user's files cannot be told from those of git
        raise StorageError(
            folder.show(INTENT),
            "read",
            "it is not the record of a move of your branch",
            next_step="Look at git status. Once your checkout is as you want it, move this file elsewhere.",
        )
    if await repository.git.out("rev-parse", "HEAD") != intent["old"]:
        end(folder)
        return []
    git, old, new = repository.git, intent["old"], intent["new"]
    if await git.names("diff", "--cached", "--name-only", old):  # git has written all files and the index
        await git.run("read-tree", "-m", "-u", new, old, check=False)
    changes = await _changes(git, old, new)
    for change in changes:
        if change.kind == _ADDED and change.path not in intent["there"]:
            await _remove(repository, new, change)
    dirty = set(await _dirty(git, changes))
    ours = [one.path for one in changes if one.path in dirty and await _is_of_git(repository, new, one)]
    if ours and await _check_out(git, ours):
        for path in ours:  # git stopped at one of them, for example because its filter failed
            await _check_out(git, [path])
    left = await _dirty(git, changes)
    if not left:
        end(folder)
    return left


def _is_intent(value: Any) -> bool:
    if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in ("old", "new")):
        return False
    there = value.get("there")
    return isinstance(there, list) and all(isinstance(path, str) for path in there)


async def _changes(git: Git, old: str, new: str) -> list[Change]:
    rows = await git.names("diff-tree", "-r", "--raw", "--no-renames", old, new)
    return list(_parse(iter(rows)))


def _parse(rows: Iterator[str]) -> Iterator[Change]:
    """Yield the changes of `diff-tree --raw -z`: each is a row of modes, ids and letter, and a row with the path."""
    for row in rows:
        words = row.split()
        yield Change(next(rows), words[4][:1], words[1])


async def _dirty(git: Git, changes: list[Change]) -> list[str]:
    """Return the changed paths whose tracked files differ from HEAD."""
    paths = {one.path for one in changes}
    return [path for path in await git.names("diff", "--name-only", "HEAD") if path in paths]


async def _check_out(git: Git, paths: list[str]) -> int:
    """Check files out from the index, and return git's exit code."""
    data = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    return (await git.run("checkout-index", "--force", "-z", "--stdin", stdin=data, check=False))[0]


async def _remove(repository: Repository, new: str, change: Change) -> None:
    """Remove a file that git added, if it is as git left it, and its folders if they are empty."""
    path = os.path.join(repository.root, change.path)
    if not os.path.lexists(path) or not await _is_of_git(repository, new, change):
        return
    with suppress(OSError):
        os.unlink(path)
        while (path := os.path.dirname(path)) != repository.root:
            os.rmdir(path)


async def _is_of_git(repository: Repository, new: str, change: Change) -> bool:
    """Return whether a path is as git leaves it on the way to the new commit: absent, or with the new content or its
    beginning.
    """
    path = os.path.join(repository.root, change.path)
    if change.mode == _REPOSITORY:
        return False
    if not os.path.lexists(path):
        return True
    try:
        if os.path.islink(path):
            content = os.fsencode(os.readlink(path))
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                content = file.read()
        else:
            return False
        _, wanted = await repository.git.run("cat-file", "--filters", f"{new}:{change.path}")
    except (OSError, GitFailed):
        return False
    return wanted.encode("utf-8", "surrogateescape").startswith(content)
