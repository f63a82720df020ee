"""Inspect the lock of a workspace from outside."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def is_held(root: Path) -> bool:
    """Return whether any process, this one included, holds the lock of the project at `root`."""
    fd = os.open(root / ".nexus/state/lock", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
