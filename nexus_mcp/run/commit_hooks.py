"""Decide whether the repository's commit hooks may run on the work of an attempt: not if the attempt wrote them."""

from __future__ import annotations

import filecmp
import os
from contextlib import suppress

from nexus_mcp.run.git import Git
from nexus_mcp.run.git_files import has_commit_hooks

_GENERATED = "_"
"""Husky generates the hooks of `.husky/_`; they call the files beside that folder."""
_OUTSIDE = os.pardir


async def runs_hooks(root: str, worktree: str, base: str) -> bool:
    """Return whether the hooks of the checkout `root` may run in a worktree whose attempt began at `base`.

    Hooks outside of the tree may run, if core.hooksPath is absolute or not set: a relative path that leads out of the
    tree names another folder in each worktree. Hooks in the tree may run if all tracked ones are as in `base` and the
    checkout has the same untracked ones. Return False if there are no hooks. Raise GitFailed.
    """
    if not await has_commit_hooks(root):
        return False
    folder = await _folder_in_tree(worktree)
    if not folder:
        return True
    if folder == _OUTSIDE:
        return False
    git = Git(worktree)
    changed = await git.names("status", "--porcelain", "--untracked-files=no", "--", folder)
    changed += await git.names("diff", "--name-only", base, "HEAD", "--", folder)
    if changed:
        return False
    others = await git.names("ls-files", "--others", "--full-name", "--", folder)
    return all(_is_same(os.path.join(root, name), os.path.join(worktree, name)) for name in others)


async def changes_hooks(root: str, old: str, new: str) -> bool:
    """Return whether the hooks of the checkout `root` are in its tree, and two commits have different ones.

    Raise GitFailed.
    """
    folder = await _folder_in_tree(root)
    return folder not in ("", _OUTSIDE) and bool(await Git(root).names("diff", "--name-only", old, new, "--", folder))


async def _folder_in_tree(root: str) -> str:
    """Return the folder that core.hooksPath names, for Husky the folder around it; "" if the setting is absent or an
    absolute path outside of the tree at `root`, _OUTSIDE if it is a relative path that leads out of the tree.
    """
    # Without `hooks=True`, the class Git sets core.hooksPath to the null device, and `git config` would print that.
    _, path = await Git(root, hooks=True).run("config", "--path", "core.hooksPath", check=False)
    folder = path.strip()
    if not folder or (os.path.isabs(folder) and not folder.startswith(os.path.join(root, ""))):
        return ""
    if os.path.basename(os.path.normpath(folder)) == _GENERATED:
        folder = os.path.dirname(os.path.normpath(folder)) or "."
    return _OUTSIDE if os.path.normpath(folder).split(os.sep)[0] == os.pardir else folder


def _is_same(first: str, second: str) -> bool:
    with suppress(OSError):
        is_plain = not (os.path.islink(first) or os.path.islink(second))
        return is_plain and os.path.isfile(second) and filecmp.cmp(first, second, shallow=False)
    return False
