"""Prepare the worktree of an attempt for its commit, whatever the session left in git's folder of the worktree.

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
from nexus_mcp.wording import join_first

EXECUTOR_INDEX = "nexus-index"
"""Name of the executor's own index of a worktree, in git's folder of it: the index with which the attempt began."""
_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of an entry for a repository in the tree, octal 160000, as bytes of the index file."""
_LOCKS = ("index.lock", "HEAD.lock")
_SPECIAL = re.compile(r"error: (.+): can only add regular files")
_EMBEDDED = re.compile(r"adding embedded git repository: (.+)|'(.+)/' does not have a commit checked out")


async def remove_locks(admin: str, path: str) -> None:
    """Remove the locks of HEAD and index in git's folder of a worktree, unless a process works in the worktree."""
    locks = [lock for name in _LOCKS if os.path.lexists(lock := os.path.join(admin, name))]
    if locks and not await asyncio.to_thread(works_in, path):
        for lock in locks:
            with suppress(OSError):
                os.unlink(lock)


async def show_hidden(git: Git, admin: str) -> None:
    """Remove the flags of the index that hide changes of files. Raise GitFailed.

    In a sparse checkout, files that are not checked out keep their flag.
    """
    filecmp.clear_cache()  # its cache compares sizes and times, which a session can set
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
    """Put HEAD of a worktree onto `branch`, at the commit that the session checked out, unless it is there already.

    If this commit does not contain the old commit of the branch, another branch keeps the old one. Raise GitFailed.
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


def embedded_folders(output: str) -> list[str]:
    """Return the folders that are repositories of their own, as `git add` names them in its messages."""
    found = (first or second for first, second in _EMBEDDED.findall(output))
    return list(dict.fromkeys(name.rstrip("/") for name in found))


def special(output: str) -> list[str]:
    """Return the paths that `git add` names in its messages because they are pipes, sockets or devices."""
    return _SPECIAL.findall(output)


def is_sparse(admin: str) -> bool:
    """Return whether a worktree may be a sparse checkout: then git adds other files only with the option --sparse."""
    return os.path.lexists(os.path.join(admin, "info", "sparse-checkout"))


def refusal_of_special(names: list[str]) -> str:
    """Return what an agent has to do about files that git cannot store, "" if there are none."""
    if not names:
        return ""
    return (
        f"{join_first(names, 20)}: a pipe, socket or device is in the place of a file, and git cannot store it. "
        "Put the file back, or remove what is there."
    )


def refusal(folders: list[str]) -> str:
    """Return what an agent has to do about repositories in its worktree, "" if there are none."""
    if not folders:
        return ""
    names = join_first(folders, 20)
    return (
        f"{names}: a folder with a git repository of its own cannot be committed, and its files would be lost. If its "
        "files belong to this project, remove its folder .git; else move it out of the project or add it to .gitignore."
    )


def may_have_repositories(admin: str) -> bool:
    """Return whether the index of a worktree may have entries of repositories: False is certain.

    To let git list a large index costs more than to search its file for the mode of such an entry.
    """
    with suppress(OSError), open(os.path.join(admin, "index"), "rb") as file:
        is_split = any(entry.name.startswith("sharedindex.") for entry in os.scandir(admin))
        return is_split or _GITLINK in file.read()
    return True


async def _repositories(git: Git) -> list[str]:
    """Return the paths of the repositories in the index. Raise GitFailed."""
    entries = await git.names("ls-files", "--stage")
    return [entry.partition("\t")[2] for entry in entries if entry.startswith("160000 ")]


async def forget_embedded(git: Git, known: str) -> None:
    """Remove the entries of repositories that are no submodules from the index, unless the commit `known` has them.

    A session can commit such an entry itself. git then never looks at the files below it, even if no repository is
    there any more. Raise GitFailed.
    """
    names = await _repositories(git)
    words = ("config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$", "-z")
    _, rows = await git.run(*words, check=False)
    modules = {row.partition("\n")[2] for row in rows.split("\0")}
    if others := [name for name in names if name not in modules]:
        entries = await git.names("ls-tree", known, "--", *others)
        ours = {entry.partition("\t")[2] for entry in entries if entry.startswith("160000 ")}
        if others := [name for name in others if name not in ours]:
            await git.run("rm", "--cached", "--quiet", "--force", "--", *map(_literal, others))


def _literal(name: str) -> str:
    return f":(top,literal){name}"


async def kept_inside(path: str, *, is_staged: bool = False) -> str:
    """Return which work is only in submodules of a worktree, and what to do; "" if there is none.

    The entry of a submodule names a commit. A commit without a remote branch, and changes that are not committed, would
    be lost with the worktree. Untracked files do not count: builds leave them. But files in the folder of a submodule
    that is not initialised count, because no repository has them. With `is_staged` the index entries of the submodules
    with such commits or changes are reset to HEAD. Raise GitFailed.
    """
    names = await _repositories(Git(path))
    found = [name for name in names if os.path.lexists(os.path.join(path, name, ".git"))]
    bare = [name for name in names if name not in found and _has_files(os.path.join(path, name))]
    kept = [name for name in found if await _has_work(Git(os.path.join(path, name)))]
    if kept and is_staged:
        await Git(path).run("reset", "--quiet", "HEAD", "--", *kept)
    if bare:
        return (
            f"{join_first(bare, 20)}: the folder of a submodule without its repository has files, and they would be "
            "lost. Move them to another folder, or initialise the submodule first."
        )
    if not kept:
        return ""
    return (
        f"{join_first(kept, 20)}: a submodule has changes or commits that are nowhere else, and they would be lost. "
        "Push its commits to a branch of its remote, or undo its changes."
    )


def _has_files(folder: str) -> bool:
    return any(names for _, _, names in os.walk(folder))


async def _has_work(git: Git) -> bool:
    code, commits = await git.run("rev-list", "--max-count=1", "HEAD", "--not", "--remotes", check=False)
    _, changes = await git.run("status", "--porcelain", "--untracked-files=no", check=False)
    return bool(code == 0 and commits) or bool(changes)
