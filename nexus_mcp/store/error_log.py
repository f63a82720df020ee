"""What went wrong in hooks: `.nexus/state/<harness id>/hook-errors.jsonl`, for whoever misses what an event does.

Advice only: never needed, never synced, never waited for, and only where `.nexus/state` is there. Written without the
workspace lock, because that may be what failed: a line goes out in one write at the end of the file, which the system
keeps apart from those of others. When the file is full it becomes the older one, in whose place nothing else is put
meanwhile, and a new one is begun.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import NexusError
from nexus_mcp.store.codec import compact, in_utf8
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.opening import let_go
from nexus_mcp.store.permissions import PRIVATE

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.workspace import Workspace

NAME = "hook-errors.jsonl"
OLDER = "hook-errors.old.jsonl"
LIMIT = 1 << 16
LONGEST = 1000
"""Characters of a text, at most."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)


def note(workspace: Workspace, now: str, event: str, error: str) -> None:
    """Add a line; `error` must have nothing of what somebody's payload held. Never raises: the hook has to answer."""
    line = in_utf8(compact({"timestamp": now, "event": event, "error": error[:LONGEST]})) + b"\n"
    try:
        with _state(workspace) as state, state.make(workspace.harness_id, confirm=False)[0] as own:
            _append(own, line)
    except (NexusError, OSError):
        return


def _state(workspace: Workspace) -> Folder:
    """`.nexus/state`. Raises FileNotFoundError where there is none: a failure does not make a project one of ours."""
    with Folder.root(workspace.root) as root:
        nexus = root.child(".nexus")
        if nexus is None:
            raise FileNotFoundError
        with nexus:
            state = nexus.child("state")
    if state is None:
        raise FileNotFoundError
    return state


def _append(own: Folder, line: bytes) -> None:
    fd = own.open(NAME, _FLAGS, PRIVATE)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            return
        if info.st_size + len(line) > LIMIT and _is_ours(own, fd):
            own.rename(NAME, OLDER)
            new = own.open(NAME, _FLAGS, PRIVATE)
            try:
                os.write(new, line)
            finally:
                let_go(new)
            return
        os.write(fd, line)
    finally:
        let_go(fd)


def _is_ours(own: Folder, fd: int) -> bool:
    """Whether nobody else puts this file aside, or has done so. The lock goes with the descriptor."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return own.is_file(NAME, fd)
