"""Take the verdict file of a reviewer out of a worktree. A folder, link or special file with its name is never read;
`remove` deletes it before the review.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress

from nexus_mcp.run import verdict
from nexus_mcp.run.worktrees import VERDICT_FILES
from nexus_mcp.store.atomic import read_up_to


def take(folder: str, message: str) -> tuple[verdict.Verdict | None, str]:
    """Return (the verdict of a review, None without one; the fault of its file, "" for none).

    The file in the worktree, which is then removed, has precedence over the last message.
    """
    fault = ""
    for name in VERDICT_FILES:
        data = _take_file(os.path.join(folder, name))
        if data is None:
            continue
        found = verdict.read(data)
        if found is not None:
            return found, ""
        fault = f"{name} is no verdict: {verdict.fault(data)}"
    return verdict.in_message(message), fault


def remove(folder: str) -> None:
    """Remove every verdict file from a worktree, also a folder or link with such a name."""
    for name in VERDICT_FILES:
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _take_file(path: str) -> bytes | None:
    """Return the first MAX_BYTES + 1 bytes of a file, and remove the file. Return None, and remove nothing, if the file
    cannot be opened, or if it is a link, folder or special file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = read_up_to(fd, 0, verdict.MAX_BYTES + 1)
    finally:
        os.close(fd)
    os.unlink(path)
    return data
