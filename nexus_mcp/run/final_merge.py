"""Fast-forward the user's branch to the integration branch of a run, if nothing prevents that."""

from __future__ import annotations

import os
from dataclasses import dataclass

from nexus_mcp.run.commit_hooks import changes_hooks
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_files import folders
from nexus_mcp.run.worktrees import Repository


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the user's branch can move to the integration branch. `problem` is the reason why it cannot, or "".

    `commits` is the number of commits that the user's branch would get; 0 means that it has them all.
    """

    branch: str
    commits: int
    problem: str = ""


async def readiness(repository: Repository, branch: str, new: str) -> Readiness:
    """Return whether the branch from which the run began can be moved to the commit `new` now. Raise GitFailed."""
    git = repository.git
    if not await repository.head(f"refs/heads/{repository.integration}"):
        return Readiness(branch, 0, "the integration branch is gone")
    if not branch:
        return Readiness("", 0, "the run began without a branch (detached HEAD)")
    code, now = await git.run("symbolic-ref", "--quiet", "--short", "HEAD", check=False)
    if code or now.strip() != branch:
        return Readiness(branch, 0, f"{branch} is not checked out any more")
    head = await repository.head("HEAD")
    commits = int(await git.out("rev-list", "--count", f"{head}..{new}"))
    if not commits:
        return Readiness(branch, 0)
    if not await repository.is_ancestor(head, new):
        return Readiness(branch, commits, f"{branch} has moved since the run began")
    if await git.names("diff", "--name-only", "HEAD"):
        return Readiness(branch, commits, "there are uncommitted changes")
    return Readiness(branch, commits)


async def fast_forward(repository: Repository, new: str) -> str:
    """Move the branch that is checked out to the commit `new`; return "", or the error of git.

    A commit, not the integration branch: a process that an attempt left may move that branch after it was compared.
    git itself refuses to overwrite a file of the user. Hooks of the repository run, as at a merge by hand, unless they
    are in the tree and the run changed them: they would run without the sandbox, and before a person read them.
    """
    git = repository.git
    try:
        if lock := await _lock(repository):
            raise GitFailed(("merge", "--ff-only"), 128, f"Unable to create '{lock}': File exists")
        old = await git.out("rev-parse", "HEAD")
        hooks = not await changes_hooks(repository.root, old, new)
        try:
            await Git(repository.root, hooks).run("merge", "--ff-only", "--quiet", new)
        except GitFailed:
            # git writes the files before it moves the branch: if the branch did not move, restore the files.
            if await git.out("rev-parse", "HEAD") == old:
                await git.run("read-tree", "-m", "-u", new, old, check=False)
            raise
    except GitFailed as error:
        return str(error) if error.next_step else error.output.strip() or str(error)
    return ""


async def _lock(repository: Repository) -> str:
    """Return a lock of git that would stop the move of the user's branch after its files are written, "" without one.

    Raise GitFailed.
    """
    found = await folders(repository.root)
    branch = await repository.git.out("symbolic-ref", "--quiet", "HEAD")
    names = [os.path.join(found.own, name) for name in ("index.lock", "HEAD.lock", "ORIG_HEAD.lock")]
    return next(filter(os.path.lexists, [*names, os.path.join(found.common, f"{branch}.lock")]), "")
