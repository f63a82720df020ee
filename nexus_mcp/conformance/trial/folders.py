"""Check and describe the folder of a project before a fixture fills it."""

from __future__ import annotations

import os

from nexus_mcp.conformance.trial.emptying import FOLDER, Anchor
from nexus_mcp.conformance.trial.snapshot import TooMuch, digest, snapshot
from nexus_mcp.errors import HarnessFault

EMPTY_GIT: dict[str, bytes | None] = {
    "HEAD": b"ref: refs/heads/main\n",
    "config": b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    "objects/": None,
    "refs/heads/": None,
}
"""Path below .git -> its bytes, None for a folder: an empty repository on branch main."""
_NAMED = 5


def check_outside_git(project: str) -> None:
    """Raise HarnessFault when a parent folder of `project`, an absolute path, is a repository."""
    folder = project
    while (above := os.path.dirname(folder)) != folder:
        if os.path.lexists(os.path.join(above, ".git")):
            raise HarnessFault(
                [f"A fixture needs a project outside of git, and {above}, a parent folder, has a .git."],
                next_step="Set TMPDIR to a folder that lies in no repository.",
            )
        folder = above


def claim_folder(folder: str) -> Anchor:
    """Open a folder that a run may fill and empty. Raises HarnessFault unless it is empty or as `lay_git` leaves it."""
    try:
        anchor = Anchor(folder)
    except (NotADirectoryError, FileNotFoundError):
        raise HarnessFault(
            [f"{folder} is not a folder."], next_step="Name the folder that the server serves."
        ) from None
    except OSError as error:
        raise HarnessFault([f"{folder} cannot be used: {error.strerror}."]) from error
    names = anchor.names()
    if not names or (names == [".git"] and _is_laid(anchor.fd)):
        return anchor
    anchor.close()
    shown = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
    raise HarnessFault(
        [f"{folder} is not empty: it holds {shown}."],
        next_step="Let the server serve an empty folder: what is in it is deleted after each fixture.",
    )


def _is_laid(folder: int) -> bool:
    """Return whether the .git in it is as `lay_git` creates it, byte by byte."""
    wanted = {"HEAD": b"", "config": b"", "objects": None, "refs": None, "refs/heads": None}
    try:
        git = os.open(".git", FOLDER, dir_fd=folder)
    except OSError:
        return False
    try:
        seen = snapshot(git)
    except TooMuch:
        return False
    finally:
        os.close(git)
    return set(seen) == set(wanted) and all(
        seen[path] == "folder" if content is None else seen[path] == digest(EMPTY_GIT[path] or b"")
        for path, content in wanted.items()
    )
