"""Resolve the files that a change may touch, by their paths from `.nexus/state`: plan.json, tasks.json, artifacts."""

from __future__ import annotations

from nexus_mcp.errors import PathRefused
from nexus_mcp.store import atomic

TYPE_CHECKING = False

if TYPE_CHECKING:
    from contextlib import ExitStack

    from nexus_mcp.store.folder import Folder

PLAN = "plan.json"
TASKS = "tasks.json"
SESSION = (PLAN, TASKS)
ARTIFACTS = "artifacts"


def is_place(name: str) -> bool:
    """Return whether `name`, which may come from a file, is the path of a file that a change may touch."""
    from nexus_mcp.state import artifact_name

    folder, _, rest = name.partition("/")
    if folder != ARTIFACTS:
        return name in SESSION
    try:
        artifact_name.segments(rest, atomic.PREFIX)
    except PathRefused:
        return False
    return True


def find(stack: ExitStack, state: Folder, name: str) -> tuple[Folder | None, str]:
    """Return (the folder of the file at the path `name`, None if it is missing; the file's name in it).

    `stack` closes the opened folders. Raise PathRefused, StorageError.
    """
    *folders, last = name.split("/")
    folder: Folder | None = state
    for part in folders:
        folder = folder.child(part) if folder is not None else None
        if folder is not None:
            stack.enter_context(folder)
    return folder, last


def make(stack: ExitStack, state: Folder, name: str, new: list[tuple[Folder, str]]) -> tuple[Folder, str]:
    """Return the result of `find`, after creating missing folders. Each of them is added to `new` with its parent."""
    *folders, last = name.split("/")
    folder = state
    for part in folders:
        below, is_new = folder.make(part)
        if is_new:
            new.append((folder, part))
        folder = stack.enter_context(below)
    return folder, last
