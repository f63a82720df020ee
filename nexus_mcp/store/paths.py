"""Resolve the files that a change may touch, by their paths from `.nexus/state`: plan.json, tasks.json, artifacts, and
the records of idempotency keys.
"""

from __future__ import annotations

import os

from nexus_mcp.errors import PathRefused
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import PRIVATE

TYPE_CHECKING = False

if TYPE_CHECKING:
    from contextlib import ExitStack

    from nexus_mcp.store.folder import Copy, Folder

PLAN = "plan.json"
TASKS = "tasks.json"
SESSION = (PLAN, TASKS)
_HEX = "0123456789abcdef"
ARTIFACTS = "artifacts"
IDEMPOTENCY = "idempotency"


def is_place(name: str) -> bool:
    """Return whether `name`, which may come from a file, is the path of plan.json, tasks.json or an artifact."""
    from nexus_mcp.state import artifact_name

    folder, _, rest = name.partition("/")
    if folder != ARTIFACTS:
        return name in SESSION
    try:
        artifact_name.segments(rest, atomic.PREFIX)
    except PathRefused:
        return False
    return True


def is_record(name: str) -> bool:
    """Return whether `name`, which may come from a file, is the path of a file of idempotency keys (idempotency.py)."""
    folder, _, rest = name.partition("/")
    number = rest.removesuffix(".json")
    return folder == IDEMPOTENCY and len(number) == 2 and rest == f"{number}.json" and not number.strip(_HEX)


def mode_of_new(folder: str) -> Copy | None:
    """Return the limit on the permissions of a new file in the folder at the path `folder`; None without a limit.

    Records of idempotency keys have answers, with text of files that others may not be allowed to read.
    """
    return PRIVATE if folder.endswith(os.path.join(".nexus", "state", IDEMPOTENCY)) else None


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
    """Return the result of `find`, after creating missing folders: (parent, name) of each of them is added to `new`.

    Raise PathRefused, StorageError.
    """
    *folders, last = name.split("/")
    folder = state
    for part in folders:
        below, is_new = folder.make(part)
        if is_new:
            new.append((folder, part))
        folder = stack.enter_context(below)
    return folder, last
