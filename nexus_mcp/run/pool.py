"""Keep worktrees of a run for later attempts: some are made in advance, others come from attempts whose work is merged.

To make a worktree, git writes each file of the repository; to use one again, git writes only the files that differ. An
attempt sees nothing of the one before it: tracked files are compared with an index that only the executor uses, all
other files are removed, and so are the files that git keeps for the attempt in its folder of the worktree. If one of
these steps may have failed, the worktree is removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.run.collecting import EXECUTOR_INDEX
from nexus_mcp.run.git import Git
from nexus_mcp.run.git_files import folders, text_of
from nexus_mcp.run.processes import works_in
from nexus_mcp.run.worktrees import LEASE, Repository

FREE = "free-"
"""Prefix of the names of worktrees that no attempt uses."""
_INDEX = EXECUTOR_INDEX
_STAY = frozenset(("HEAD", "commondir", "gitdir", "refs", _INDEX))
_GO = ("ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "AUTO_MERGE", "index", "logs", LEASE)
"""Files and folders in git's folder of a worktree that are removed before the next attempt. If others than these and
_STAY are there, the worktree is not used again."""
_SETTINGS = r"^(core\.(sparsecheckout|splitindex)|extensions\.(worktreeconfig|refstorage|relativeworktrees))$"


@dataclass(slots=True)
class _Worktree:
    """A worktree of the pool. `admin` is git's folder of it, `common` the content of the file `commondir` there.

    `digest` is the SHA-256 of the executor's index when an attempt got the worktree. `commit` is the commit that is
    checked out while no attempt uses the worktree.
    """

    path: str
    admin: str
    common: str
    digest: str = ""
    commit: str = ""


class Pool:
    """The free and the used worktrees of one run."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._ready: asyncio.Queue[_Worktree | BaseException] = asyncio.Queue()
        self._at_work: set[asyncio.Task[None]] = set()
        self._lent: dict[str, _Worktree] = {}
        self._waiting = 0
        self._number = 0
        self._is_usable: bool | None = None
        self._is_closed = False

    async def begin(self, count: int) -> None:
        """Remove the free worktrees of an earlier executor, and begin to make `count` new ones, if worktrees of this
        repository can be used again. Raise GitFailed, OSError.
        """
        self._is_closed = False
        await self._remove_free()
        if await self._can_share():
            for _ in range(count - self._ready.qsize() - len(self._at_work)):
                self._start(self._make())

    async def take(self, task: int, attempt: int, base: str, links: Sequence[str] = ()) -> str:
        """Return the folder of a worktree for an attempt, on the attempt's branch at the commit `base`.

        If an interrupted call left the worktree or the branch, it is used as it is. `links` are as in `Repository.add`.
        Raise GitFailed, WorktreeGone, OSError.
        """
        repository = self._repository
        path, branch = repository.path(f"{task}-{attempt}"), repository.branch(task, attempt)
        if os.path.exists(os.path.join(path, ".git")) or not await self._can_share():
            return await repository.add(task, attempt, base, links)
        found = await self._free()
        if await repository.head(f"refs/heads/{branch}"):  # an interrupted call made the branch
            await self._check_out(found, "--ignore-other-worktrees", branch)
        else:
            await self._switch(found, branch, base)
        _copy_index(found)
        async with repository.in_place:
            _move(found, path)
        self._lent[path] = found
        repository.link_all(path, links)
        return path

    async def give_back(self, path: str) -> None:
        """Take back the worktree of an attempt whose work is merged, for another attempt; remove it if that is
        impossible. Raise GitFailed.
        """
        found = self._lent.pop(path, None)
        if found is not None and not self._is_closed:
            with suppress(OSError):
                async with self._repository.in_place:
                    _move(found, self._free_path())
                self._start(self._recycle(found, path))
                return
        await self._repository.remove(path)

    async def close(self, *, is_hurried: bool = False) -> None:
        """Remove the free worktrees; with `is_hurried` leave that to the next executor or `run clean`."""
        self._is_closed = True
        for working in self._at_work:
            working.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)
        while not self._ready.empty():
            self._ready.get_nowait()
        if not is_hurried:
            with suppress(NexusError, OSError):
                await self._remove_free()

    async def _can_share(self) -> bool:
        """Return whether worktrees of this repository can be used again. Raise GitFailed."""
        if self._is_usable is None:
            git = self._repository.git
            _, out = await git.run("config", "--get-regexp", _SETTINGS, check=False)
            has_settings = any(not line.endswith(" false") for line in out.split("\n") if line)
            self._is_usable = not has_settings and (await folders(self._repository.root)).has_ref_files
        return self._is_usable

    async def _free(self) -> _Worktree:
        self._waiting += 1
        try:
            self._make_missing()
            found = await self._ready.get()
        finally:
            self._waiting -= 1
        if isinstance(found, BaseException):
            raise found
        return found

    def _make_missing(self) -> None:
        for _ in range(self._waiting - self._ready.qsize() - len(self._at_work)):
            self._start(self._make())

    def _start(self, work: Coroutine[Any, Any, _Worktree | None]) -> None:
        working = asyncio.create_task(self._carry_out(work))
        self._at_work.add(working)
        working.add_done_callback(self._forget)

    def _forget(self, working: asyncio.Task[None]) -> None:
        self._at_work.discard(working)
        if not self._is_closed:
            self._make_missing()

    async def _carry_out(self, work: Coroutine[Any, Any, _Worktree | None]) -> None:
        try:
            found: _Worktree | BaseException | None = await work
        except (NexusError, OSError) as error:
            found = error
        if found is not None:
            self._ready.put_nowait(found)

    def _free_path(self) -> str:
        while True:
            self._number += 1
            path = self._repository.path(f"{FREE}{self._number}")
            if not os.path.lexists(path):
                return path

    async def _make(self) -> _Worktree:
        repository, path = self._repository, self._free_path()
        commit = await repository.head(f"refs/heads/{repository.integration}")
        try:
            await repository.add_worktree("--detach", "--no-checkout", path, commit)
            admin = await repository.admin_of(path)
            found = _Worktree(path, admin, _text(os.path.join(admin, "commondir")))
            await self._check_out(found, "--detach", commit)
            found.commit = commit
        except (NexusError, OSError):
            await repository.remove(path)  # an incomplete one must not fill the disk
            raise
        return found

    async def _recycle(self, found: _Worktree, before: str) -> _Worktree | None:
        """Clean a used worktree and return it; if something of the attempt might remain in it, remove it and return
        None. `before` is its path in the attempt. Raise GitFailed.
        """
        repository = self._repository
        try:
            if await asyncio.to_thread(_is_fit, found, before):
                commit = await repository.head(f"refs/heads/{repository.integration}")
                # A warning here may mean that something of the attempt is left.
                await self._check_out(found, "--detach", commit, is_quiet=True)
                await self._git(found, "clean", "-q", "-f", "-f", "-d", "-x", is_quiet=True)
                found.commit = commit
                return found
        except (NexusError, OSError):
            pass
        await repository.remove(found.path)
        return None

    async def _switch(self, found: _Worktree, branch: str, base: str) -> None:
        """Begin a branch at `base` in a free worktree; git writes only the files that differ.

        Raise GitFailed, OSError.
        """
        if found.commit != base:
            await self._git(found, "read-tree", "-m", "-u", found.commit, base)
        repository = self._repository
        await repository.writer.move(repository.git, f"refs/heads/{branch}", base, "0" * len(base))
        _write(os.path.join(found.admin, "HEAD"), f"ref: refs/heads/{branch}")

    async def _check_out(self, found: _Worktree, *words: str, is_quiet: bool = False) -> None:
        """Check out by force. Raise GitFailed, with `is_quiet` also for a warning."""
        await self._git(found, "checkout", "--quiet", "--force", "--no-guess", *words, is_quiet=is_quiet)

    async def _git(self, found: _Worktree, *words: str, is_quiet: bool = False) -> None:
        index = {"GIT_INDEX_FILE": os.path.join(found.admin, _INDEX)}
        await Git(found.path).run(*words, environ=index, is_quiet=is_quiet)

    async def _remove_free(self) -> None:
        folder = os.path.dirname(self._repository.path(FREE))
        names = os.listdir(folder) if os.path.isdir(folder) else []
        for name in names:
            if name.startswith(FREE):
                await self._repository.remove(os.path.join(folder, name))


def _copy_index(found: _Worktree) -> None:
    """Give a worktree a copy of the executor's index. Raise OSError.

    The copy keeps the modification time of the index: git reads each file again that may have changed at or after this
    time.
    """
    with open(os.path.join(found.admin, _INDEX), "rb") as file:
        data, info = file.read(), os.fstat(file.fileno())
    found.digest = hashlib.sha256(data).hexdigest()
    index = os.path.join(found.admin, "index")
    _write(index, data)
    os.utime(index, ns=(info.st_atime_ns, info.st_mtime_ns))


def _move(found: _Worktree, path: str) -> None:
    """Rename a worktree. Raise OSError. git's file `gitdir` with the path of the worktree is written before the rename,
    so it is right for a renamed worktree even if the executor is killed. The caller holds `in_place`.
    """
    _write(os.path.join(found.admin, "gitdir"), os.path.join(path, ".git"))
    os.rename(found.path, path)
    found.path = path


def _write(path: str, content: str | bytes) -> None:
    """Replace a file, never through a link that an attempt made. Raise OSError."""
    temporary = f"{path}.nexus"
    with open(temporary, "xb") as file:
        file.write(content if isinstance(content, bytes) else os.fsencode(content) + b"\n")
    os.replace(temporary, path)


def _is_fit(found: _Worktree, before: str) -> bool:
    """Return whether a worktree may be used again: `_is_plain` accepts it, and no process works in it, under its new
    path or its old one. Raise OSError.
    """
    return _is_plain(found, before) and not works_in(before, found.path)


def _is_plain(found: _Worktree, before: str) -> bool:
    """Return whether git's files of a worktree are as git and the executor leave them; if so, remove those of _GO.

    An attempt may have written into git's folder of its worktree. A worktree with submodules does not count as plain.
    `before` is the path that the worktree had in the attempt. Raise OSError.
    """
    names = {entry.name: entry for entry in os.scandir(found.admin)}
    is_odd = any(
        not (one.is_file(follow_symlinks=False) or one.is_dir(follow_symlinks=False)) for one in names.values()
    )
    if is_odd or not names.keys() <= {*_STAY, *_GO}:
        return False
    link = os.path.join(found.path, ".git")
    if os.path.islink(link) or _text(link).strip() != f"gitdir: {found.admin}":
        return False
    if _text(os.path.join(found.admin, "commondir")) != found.common or os.path.isfile(f"{found.path}/.gitmodules"):
        return False
    if any(files for _, _, files in os.walk(os.path.join(found.admin, "refs"))):
        return False
    # An attempt may have switched to another branch: then its worktree is not used again.
    head = _text(os.path.join(found.admin, "HEAD"))
    if not head.startswith("ref: refs/heads/nexus/") or os.path.basename(head.strip()) != os.path.basename(before):
        return False
    with open(os.path.join(found.admin, _INDEX), "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != found.digest:
            return False
    for name in _GO:
        path = os.path.join(found.admin, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)
    return True


def _text(path: str) -> str:
    try:
        return text_of(path, 1 << 16)
    except OSError:
        return ""
