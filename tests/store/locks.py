"""Inspect the lock of a workspace from outside."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def is_held(root: Path) -> bool:
    """Whether somebody has the lock of the project at `root`, this process included."""
    fd = os.open(root / ".nexus/state/lock", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
