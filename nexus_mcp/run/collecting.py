"""Prepare the worktree of an attempt for its commit, whatever the session left in git's folder of it.

Everything that a session changed belongs into the commit: also files that it hid from git by flags of the index. The
commit goes to the branch of the attempt, also if the session checked out something else. Locks of a session that died
are removed.
"""

from __future__ import annotations

import asyncio
import filecmp
import os
import re
from contextlib import suppress

from nexus_mcp.run.git import Git
from nexus_mcp.run.git_files import text_of
from nexus_mcp.run.processes import works_in

EXECUTOR_INDEX = "nexus-index"
"""The index of the executor in git's folder of a worktree, as an attempt got it."""
GITLINK = "\n+Subproject commit "
"""A line of a patch that changes the commit of a repository in the tree."""
_LOCKS = ("index.lock", "HEAD.lock")
_EMBEDDED = re.compile(r"adding embedded git repository: (.+)|'(.+)/' does not have a commit checked out")


async def remove_locks(admin: str, path: str) -> None:
    """Remove the locks of git in its folder of a worktree, unless a process works there that may hold them."""
    locks = [lock for name in _LOCKS if os.path.lexists(lock := os.path.join(admin, name))]
    if locks and not await asyncio.to_thread(works_in, path):
        for lock in locks:
            with suppress(OSError):
                os.unlink(lock)


async def show_hidden(git: Git, admin: str) -> None:
    """Remove the flags of the index that hide changes of files. Raise GitFailed.

    In a sparse checkout, files that are not there stay out.
    """
    with suppress(OSError):  # nearly always no command of the session wrote the index
        if filecmp.cmp(os.path.join(admin, EXECUTOR_INDEX), os.path.join(admin, "index"), shallow=False):
            return
    rows = await git.names("ls-files", "-v")
    unchanged = [row[2:] for row in rows if row[0].islower()]
    skipped = [row[2:] for row in rows if row[0] in "sS"]
    if skipped and (await git.run("config", "--type=bool", "core.sparseCheckout", check=False))[1].strip() == "true":
        skipped = [name for name in skipped if os.path.lexists(os.path.join(git.folder, name))]
    for flag, names in (("--no-assume-unchanged", unchanged), ("--no-skip-worktree", skipped)):
        if names:
            data = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
            await git.run("update-index", flag, "-z", "--stdin", stdin=data)


async def hold_branch(git: Git, admin: str, branch: str) -> None:
    """Put HEAD of a worktree onto `branch`, at the commit that the session checked out. Raise GitFailed.

    Commits of the branch that are not part of that commit stay on a branch beside it.
    """
    with suppress(OSError):
        if text_of(os.path.join(admin, "HEAD"), 4096).strip() == f"ref: {branch}":
            return
    commit = await git.out("rev-parse", "HEAD")
    code, out = await git.run("rev-parse", "--verify", "--quiet", branch, check=False)
    before = out.strip() if code == 0 else ""
    if before and (await git.run("merge-base", "--is-ancestor", before, commit, check=False))[0]:
        await git.run("update-ref", f"{branch}-left-{before[:12]}", before)
    await git.run("update-ref", branch, commit, before or "0" * len(commit))
    await git.run("symbolic-ref", "HEAD", branch)


def embedded(output: str) -> list[str]:
    """Return the folders that are repositories of their own, as `git add` names them."""
    found = (first or second for first, second in _EMBEDDED.findall(output))
    return list(dict.fromkeys(name.rstrip("/") for name in found))


def refusal(folders: list[str]) -> str:
    """Return what an agent has to do about repositories in its worktree, "" without one."""
    if not folders:
        return ""
    names = ", ".join(folders[:20])
    return (
        f"{names}: a folder with a git repository of its own cannot be committed, and its files would be lost. If its "
        "files belong to this project, remove its folder .git; else move it out of the project or add it to .gitignore."
    )


async def kept_inside(path: str, *, is_staged: bool = False) -> str:
    """Return which work is only in submodules of a worktree, and what to do; "" if there is none.

    The entry of a submodule names a commit. A commit without a remote branch, and changes that are not committed, would
    be lost with the worktree. Untracked files do not count: builds leave them. With `is_staged` the entries of such
    submodules are reset in the index. Raise GitFailed.
    """
    entries = await Git(path).names("ls-files", "--stage")
    names = [entry.partition("\t")[2] for entry in entries if entry.startswith("160000 ")]
    found = [name for name in names if os.path.lexists(os.path.join(path, name, ".git"))]
    kept = [name for name in found if await _has_work(Git(os.path.join(path, name)))]
    if not kept:
        return ""
    if is_staged:
        await Git(path).run("reset", "--quiet", "HEAD", "--", *kept)
    return (
        f"{', '.join(kept[:20])}: a submodule has changes or commits that are nowhere else, and they would be lost. "
        "Push its commits to a branch of its remote, or undo its changes."
    )


async def _has_work(git: Git) -> bool:
    code, commits = await git.run("rev-list", "--max-count=1", "HEAD", "--not", "--remotes", check=False)
    _, changes = await git.run("status", "--porcelain", "--untracked-files=no", check=False)
    return bool(code == 0 and commits) or bool(changes)
