"""The git merge driver for history.json: reads three files and writes the result to the second.

git reads the second file whatever the exit code is, so it is replaced as a whole or not at all.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import StorageError, UsageError
from nexus_mcp.merging.threeway import merge
from nexus_mcp.merging.versions import Undecided

MARKER_SIZE = 7
_LABELS = ("-L", "ours", "-L", "the common past", "-L", "theirs")
# git merge sets one of these for each branch that it merges; a rebase, a cherry-pick and a stash do not.
_MERGED_HEAD = "GITHEAD_"


def drive(base: str, ours: str, theirs: str, marker_size: int = MARKER_SIZE) -> str:
    """Merge the file `theirs` into the file `ours`. Returns "" after a merge, else the reason of the conflict.

    On a conflict `ours` has markers around all differences, or is unchanged when git makes no markers for such a file.
    Raises UsageError when a file cannot be read, StorageError when `ours` cannot be replaced.
    """
    past, own, other = (_read(path) for path in (base, ours, theirs))
    descends = any(name.startswith(_MERGED_HEAD) for name in os.environ)
    try:
        # git passes an empty file when there is no common ancestor.
        result = merge(past or None, own, other, descends=descends)
    except Undecided as undecided:
        marked = _mark_conflict(base, ours, theirs, marker_size)
        if marked is not None:
            _replace(ours, marked)
        return undecided.reason
    if result != own:
        _replace(ours, result)
    return ""


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", next_step="git names the files itself."
        ) from error


def _mark_conflict(base: str, ours: str, theirs: str, marker_size: int) -> bytes | None:
    """Return the two sides with markers around all differences, None when git makes none (binary files, no git)."""
    for past in (os.devnull, base):
        # With the real base git would take lines of one side without a marker, and the sides could not be separated.
        # With an empty base it does so only when a side is empty; the real base has a conflict then.
        code, text = _merge_file(past, ours, theirs, marker_size)
        if 0 < code < 128:
            return text
    return None


def _merge_file(base: str, ours: str, theirs: str, marker_size: int) -> tuple[int, bytes]:
    import subprocess

    size = max(marker_size, MARKER_SIZE)  # shorter markers could be other damage
    words = ["git", "merge-file", "-p", "-q", f"--marker-size={size}", *_LABELS, "--", ours, base, theirs]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError:
        return 255, b""
    return done.returncode, done.stdout


def _replace(path: str, data: bytes) -> None:
    from nexus_mcp.store import atomic
    from nexus_mcp.store.folder import Folder, reason

    folder, name = os.path.split(os.path.realpath(path))
    try:
        with Folder.root(folder) as there:
            atomic.replace(there, name, [data])
    except atomic.Unsynced:
        pass  # git copies the file at once and does not sync itself
    except OSError as error:
        raise StorageError(path, "replace", reason(error)) from error
