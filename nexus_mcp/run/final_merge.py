"""Fast-forward the user's branch to the integration branch of a run, if nothing prevents that."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from nexus_mcp.errors import PathRefused, StorageError
from nexus_mcp.run import interrupted_merge
from nexus_mcp.run.commit_hooks import changes_hooks
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.environment_faults import full_disk, is_full
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_files import folders
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.worktrees import Repository
from nexus_mcp.store.folder import Folder
from nexus_mcp.wording import join_first

GO_ON_MERGE = "Check the free space and the permissions, then continue with nexus-mcp run merge."
_CUT = "unable to write file"
"""git prints this for a file of the checkout that it cannot write, without the system's reason."""
_SHOWN = 10
_REPORTED = 1000


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the user's branch can move to the integration branch. `problem` is the reason why it cannot, or "".

    `commits` is the number of commits that the user's branch would get; 0 without a problem means that it has
    them all.
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


def why_unverified(config: RunConfig, state: RunRecord) -> str:
    """Return why the work of a run may not be merged, "" if it may. With `regression: end` the last checks have to pass
    on exactly the commit to be merged.
    """
    if config.regression != "end" or state.verified == state.integration:
        return ""
    return state.unverified or "the checks at the end (regression: end) did not run on it"


async def fast_forward(repository: Repository, new: str, folder: Folder) -> str:
    """Move the current branch to the commit `new`. Return "", or a sentence that says why it was not moved.

    `new` is a commit, not the integration branch: a process left by an attempt may move that branch after the caller
    examined it. git itself refuses to overwrite a file of the user. Hooks of the repository run, as at a merge by hand,
    unless they are in the tree and the run changed them: changed hooks would run without the sandbox, and before a
    person has read them. Before the move, a record of it is written to the run folder. If git stops
    within the move, the checkout is put back.
    """
    git = repository.git
    try:
        if lock := await _lock(repository):
            raise GitFailed(("merge", "--ff-only"), 128, f"Unable to create '{lock}': File exists")
        old = await git.out("rev-parse", "HEAD")
        hooks = not await changes_hooks(repository.root, old, new)
        await interrupted_merge.begin(repository, folder, old, new)
        try:
            await Git(repository.root, hooks).run("merge", "--ff-only", "--quiet", new)
        except GitFailed as error:
            return await _put_back(repository, folder, error)
        interrupted_merge.end(folder)
    except (GitFailed, StorageError, PathRefused, OSError) as error:
        return _sentence(error)
    return ""


async def go_on(repository: Repository, folder: Folder) -> str:
    """Put back the files of an interrupted move. Return "", or a sentence that says why that is impossible now."""
    try:
        if interrupted_merge.is_begun(folder) and (lock := await _lock(repository)):
            raise GitFailed(("merge", "--ff-only"), 128, f"Unable to create '{lock}': File exists")
        left = await interrupted_merge.put_back(repository, folder)
    except (GitFailed, StorageError, PathRefused, OSError) as error:
        return _sentence(error)
    return _unfinished_text(left) if left else ""


async def _put_back(repository: Repository, folder: Folder, error: GitFailed) -> str:
    """Put the checkout back after git failed within a move, and return why it failed.

    Raise GitFailed, StorageError, PathRefused, OSError.
    """
    left = await interrupted_merge.put_back(repository, folder)
    if error.next_step and not left:
        return str(error)
    reported = " ".join((error.output or str(error)).split())[:_REPORTED].rstrip(".")
    why = f"The disk is full: {reported}." if is_full(error) else f"git reports: {reported}."
    if left:
        return f"{why} {_unfinished_text(left)}"
    is_cut = is_full(error) or _CUT in error.output
    return f"{why} Your checkout is as it was. {GO_ON_MERGE if is_cut else ''}".rstrip()


def _unfinished_text(left: Sequence[str]) -> str:
    return (
        "git stopped while it wrote the files of your checkout, and these are not as they were: "
        f"{join_first(left, _SHOWN)}. Do not commit them. {GO_ON_MERGE}"
    )


def _sentence(error: Exception) -> str:
    return full_disk(error) if is_full(error) else str(error)


async def _lock(repository: Repository) -> str:
    """Return the path of a lock of git that would stop the move of the user's branch, "" if there is none.

    Some of these locks would stop git only after it has written the files of the checkout. Raise GitFailed.
    """
    found = await folders(repository.root)
    branch = await repository.git.out("symbolic-ref", "--quiet", "HEAD")
    names = [os.path.join(found.own, name) for name in ("index.lock", "HEAD.lock", "ORIG_HEAD.lock")]
    return next(filter(os.path.lexists, [*names, os.path.join(found.common, f"{branch}.lock")]), "")
