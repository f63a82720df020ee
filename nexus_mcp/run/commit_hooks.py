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
    tree names another folder in each worktree. Hooks in the tree may run if all tracked ones are as in `base`, the
    checkout has the same untracked ones, and no link leads to them: git compares only the links. Return False if there
    are no hooks. Raise GitFailed.
    """
    if not await has_commit_hooks(root):
        return False
    folder = await _folder_in_tree(worktree)
    if not folder:
        return True
    if folder == _OUTSIDE or _has_link(worktree, folder):
        return False
    git = Git(worktree)
    changed = await git.names("status", "--porcelain", "--untracked-files=no", "--", folder)
    changed += await git.names("diff", "--name-only", base, "HEAD", "--", folder)
    if changed:
        return False
    others = await git.names("ls-files", "--others", "--full-name", "--", folder)
    return all(_is_same(os.path.join(root, name), os.path.join(worktree, name)) for name in others)


async def changes_hooks(root: str, old: str, new: str) -> bool:
    """Return whether two commits may have different hooks of the checkout `root`: its hooks are in the tree, and differ
    or have a link on their way.

    Raise GitFailed.
    """
    folder = await _folder_in_tree(root)
    if folder in ("", _OUTSIDE):
        return False
    return _has_link(root, folder) or bool(await Git(root).names("diff", "--name-only", old, new, "--", folder))


async def _folder_in_tree(root: str) -> str:
    """Return the folder that core.hooksPath names, from `root`, for Husky the folder around it; "" if the setting is
    absent or an absolute path outside of the tree at `root`, _OUTSIDE if it is a relative path that leads out of it.
    """
    # Without `hooks=True`, the class Git sets core.hooksPath to the null device, and `git config` would print that.
    _, path = await Git(root, hooks=True).run("config", "--path", "core.hooksPath", check=False)
    named = path.strip()
    if not named:
        return ""
    folder = os.path.relpath(named, root) if os.path.isabs(named) else os.path.normpath(named)
    if folder.split(os.sep)[0] == os.pardir:
        return "" if os.path.isabs(named) else _OUTSIDE
    return (os.path.dirname(folder) or ".") if os.path.basename(folder) == _GENERATED else folder


def _has_link(root: str, folder: str) -> bool:
    """Return whether the path of a folder from `root` has a link, or an entry of the folder is one, or it cannot be
    listed.
    """
    path = root
    for part in folder.split(os.sep):
        path = os.path.join(path, part)
        if os.path.islink(path):
            return True
    try:
        with os.scandir(path) as entries:
            return any(entry.is_symlink() for entry in entries)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _is_same(first: str, second: str) -> bool:
    with suppress(OSError):
        is_plain = not (os.path.islink(first) or os.path.islink(second))
        return is_plain and os.path.isfile(second) and filecmp.cmp(first, second, shallow=False)
    return False
