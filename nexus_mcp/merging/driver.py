"""What git runs to merge history.json: three files in, the result in the place of the second.

git reads the second file whatever the exit code is, so it is either replaced as a whole or left as it was.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import StorageError, UsageError
from nexus_mcp.merging.threeway import merge
from nexus_mcp.merging.undecided import Undecided

MARKER_SIZE = 7
_LABELS = ("-L", "ours", "-L", "the common past", "-L", "theirs")
# git merge sets one of these for each branch that it merges; a rebase, a cherry-pick and a stash do not.
_MERGED_HEAD = "GITHEAD_"


def drive(base: str, ours: str, theirs: str, marker_size: int = MARKER_SIZE) -> str:
    """Merge the file `theirs` into the file `ours`; "" when that went well.

    Else the reason why not; then `ours` has conflict markers around all that differs, or is as it was where git has
    none for such a file. Raises UsageError when a file cannot be read, StorageError when `ours` cannot be replaced.
    """
    past, own, other = (_read(path) for path in (base, ours, theirs))
    descends = any(name.startswith(_MERGED_HEAD) for name in os.environ)
    try:
        # git gives an empty file for a base that there is not.
        result = merge(past or None, own, other, descends=descends)
    except Undecided as undecided:
        marked = _marked(base, ours, theirs, marker_size)
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


def _marked(base: str, ours: str, theirs: str, marker_size: int) -> bytes | None:
    """The two sides with markers around all that differs, None when git makes none (binary files, no git)."""
    for past in (os.devnull, base):
        # Against the common past git would take lines of one side without a marker, and neither side could be had
        # again. Against an empty one it takes nothing, unless a side is empty; the common past has a conflict then.
        code, text = _merge_file(past, ours, theirs, marker_size)
        if 0 < code < 128:
            return text
    return None


def _merge_file(base: str, ours: str, theirs: str, marker_size: int) -> tuple[int, bytes]:
    import subprocess

    size = max(marker_size, MARKER_SIZE)  # shorter ones are not told from what else may be wrong with a file
    words = ["git", "merge-file", "-p", "-q", f"--marker-size={size}", *_LABELS, "--", ours, base, theirs]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError:
        return 255, b""
    return done.returncode, done.stdout


def _replace(path: str, data: bytes) -> None:
    from nexus_mcp.store import atomic
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.opening import reason

    folder, name = os.path.split(os.path.realpath(path))
    try:
        with Folder.root(folder) as there:
            atomic.replace(there, name, [data])
    except atomic.Unsynced:
        pass  # git copies it at once, and syncs nothing itself
    except OSError as error:
        raise StorageError(path, "replace", reason(error)) from error
