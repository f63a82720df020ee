"""Commit and merge by git's plumbing: with few processes, and without reading unchanged files.

`git commit` and `git merge` check each file of the tree again and write the index; in a tree of 20 000 files that is
most of the cost of an attempt. `git commit` is used only if a hook of the repository may have to run, a merge or the
like is under way, or the branch cannot be read from git's files. `git merge` is used only to merge the integration
branch into a worktree, for the last merge into the user's branch, and with versions of git before 2.38.
"""

from __future__ import annotations

import os

from nexus_mcp.run.environment_faults import names_full_disk
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_files import RUN_REFS, Folders, text_of
from nexus_mcp.run.git_writer import Writer

_UNDER_WAY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
)
_MOST_TREES = 4096
_CONFLICT = 1
_trees: dict[str, str] = {}
"""Commit -> its tree; a commit never changes."""


async def tree_of(git: Git, commit: str) -> str:
    """Return the tree of a commit. Raise GitFailed."""
    if commit not in _trees:
        _remember(commit, await git.out("rev-parse", f"{commit}^{{tree}}"))
    return _trees[commit]


def plain_head(admin: str, folders: Folders) -> tuple[str, str]:
    """Return (branch ref, its commit) of a worktree on a branch of a run, without a merge or the like under way; else
    ("", "").

    `admin` is git's folder of the worktree.
    """
    try:
        ref = text_of(os.path.join(admin, "HEAD"), 4096).removeprefix("ref: ").strip()
    except OSError:
        return "", ""
    commit = folders.ref(ref) if ref.startswith(RUN_REFS) else ""
    if not commit or any(os.path.lexists(os.path.join(admin, name)) for name in _UNDER_WAY):
        return "", ""
    return ref, commit


async def commit_index(git: Git, writer: Writer, ref: str, head: str, message: str) -> str:
    """Commit the index of a worktree to its branch, and return the commit: the present one if nothing differs. Raise
    GitFailed.
    """
    tree = await git.out("write-tree")
    if tree == await tree_of(git, head):
        return head
    commit = await writer.commit(git, tree, [head], message)
    _remember(commit, tree)
    await writer.move(git, ref, commit, head)
    return commit


async def merge_trees(git: Git, writer: Writer, head: str, commit: str, message: str) -> tuple[str, list[str]]:
    """Merge a commit into another one without a checkout; return (the new commit, []), or ("", files in conflict).

    The result is `head` itself if it contains the commit already. git reads attributes in the folder of `git`.
    Raise GitFailed.
    """
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, commit)
    code, out, output = await git.outputs(*words)
    parts = [part for part in out.split("\0") if part]
    # git may end with the code of a conflict for a missing commit or a full disk, too.
    if code not in (0, _CONFLICT) or len(parts) <= code or names_full_disk(output):
        raise GitFailed(words, code, output or out or "the commits cannot be merged")
    tree, *files = parts
    if code == _CONFLICT:
        return "", list(dict.fromkeys(files))
    # If the tree is unchanged, `head` may contain the commit already.
    if tree == await tree_of(git, head):
        known, _ = await git.run("merge-base", "--is-ancestor", commit, head, check=False)
        if known == 0:
            return head, []
    made = await writer.commit(git, tree, [head, commit], message)
    _remember(made, tree)
    return made, []


async def conflicts_of(git: Git, *words: str) -> list[str]:
    """Call `git merge WORDS` in a worktree; return the files in conflict, [] if there are none.

    Raise GitFailed if the merge failed for another reason, such as a full disk; then it is aborted.
    """
    code, out, output = await git.outputs("merge", *words)
    if not code:
        return []
    files = await git.names("diff", "--name-only", "--diff-filter=U")
    if not files or names_full_disk(output):
        await git.run("merge", "--abort", check=False)
        raise GitFailed(("merge", *words), code, output or out or "it failed without a conflict")
    return files


def _remember(commit: str, tree: str) -> None:
    if len(_trees) >= _MOST_TREES:
        _trees.clear()
    _trees[commit] = tree
