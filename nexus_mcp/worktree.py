"""Find the main worktree of a linked git worktree, if the git files of both name each other.

An agent harness makes worktrees below `.claude/worktrees/`. The sessions in them may use plan, tasks and history of the
main worktree (docs/decisions/0075). The server then writes outside of the project, so a crafted file `.git` must not
choose the place: git's own files in the main worktree have to name the linked one, and no path may contain a link.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

AUTO, OWN, SHARED = MODES = ("auto", "own", "shared")
"""Whose state a linked worktree uses. own: its own; shared: the main worktree's; auto: the main worktree's if an agent
harness or a run made the linked one, else its own.
"""
_AGENTS = (".claude", "worktrees")
"""The folder of the main worktree in which agent harnesses make worktrees."""
_GIT, _LINKED = ".git", "worktrees"
_LEASE = "nexus-lease"
"""The file by which `nexus-mcp run` marks the worktree of an attempt, in git's own folder for that worktree."""
_LIMIT = 4096
"""The maximum size in bytes of a file of git that names a folder."""


def is_linked(root: str) -> bool:
    """Return whether `root` has a file `.git`, as in linked worktrees and submodules."""
    try:
        return stat.S_ISREG(os.lstat(os.path.join(root, _GIT)).st_mode)
    except (OSError, ValueError):
        return False


def main_of(root: str) -> str:
    """Return the main worktree of the linked worktree `root`, an absolute path without links; "" in any doubt.

    The main worktree has a folder `.git` of this user, whose entry in `.git/worktrees/` names this worktree.
    """
    admin = _path_after(os.path.join(root, _GIT), "gitdir: ")
    linked, name = os.path.split(admin)
    common, folder = os.path.split(linked)
    main, git = os.path.split(common)
    if (folder, git) != (_LINKED, _GIT) or not name or main in ("", root):
        return ""
    if not _are_plain((main, common, linked, admin)):
        return ""
    names_back = _path_after(os.path.join(admin, "gitdir")) == os.path.join(root, _GIT)
    return main if names_back and _path_after(os.path.join(admin, "commondir")) == common else ""


def is_of_agents(root: str, main: str) -> bool:
    """Return whether the worktree is in a folder in which agent harnesses make worktrees."""
    return root.startswith(os.path.join(main, *_AGENTS, ""))


def is_of_run(root: str) -> bool:
    """Return whether `nexus-mcp run` made the linked worktree `root` for an attempt."""
    admin = _path_after(os.path.join(root, _GIT), "gitdir: ")
    try:
        return bool(admin) and stat.S_ISREG(os.lstat(os.path.join(admin, _LEASE)).st_mode)
    except OSError:
        return False


def state_root(root: str, mode: str) -> str:
    """Return the folder whose `.nexus` has state and history for the project `root`, an absolute path without links.

    It is `root` itself or, depending on `mode` (MODES), the main worktree of the linked worktree `root`.
    """
    main = "" if mode == OWN else main_of(root)
    is_shared = mode == SHARED or is_of_agents(root, main) or is_of_run(root)
    return main if main and is_shared else root


def _path_after(path: str, head: str = "") -> str:
    """Return the absolute path that a file of git names after the text `head`; "" for any other file.

    A relative path starts at the folder of the file. The result has no links: it has to be its own `realpath`.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError, AttributeError):  # AttributeError: a system without these flags
        return ""
    try:
        info = os.fstat(fd)
        data = os.read(fd, _LIMIT + 1) if stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() else b""
    except OSError:
        return ""
    finally:
        os.close(fd)
    text = os.fsdecode(data).removesuffix("\n")
    if len(data) > _LIMIT or not text.startswith(head) or "\n" in text or "\0" in text or text == head:
        return ""
    named = os.path.normpath(os.path.join(os.path.dirname(path), text.removeprefix(head)))
    return named if os.path.realpath(named) == named else ""


def _are_plain(folders: Sequence[str]) -> bool:
    """Return whether all are folders of this user, and no links."""
    try:
        found = [os.lstat(folder) for folder in folders]
    except OSError:
        return False
    return all(stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() for info in found)
