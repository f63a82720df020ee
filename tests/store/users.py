"""Users of a machine that share a project: real users under root, else one user in all roles."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nexus_mcp.store.history import index as history_index
from tests.forks import forked

ROOT = os.geteuid() == 0
TEAM = 61_000 if ROOT else os.getegid()
ANN, BEN = 61_001, 61_002


def become(user: int, umask: int) -> None:
    """Be a user of the team, with a group of the same number as the main one."""
    os.umask(umask)
    if ROOT:
        os.setgroups([TEAM])
        os.setgid(user)
        os.setuid(user)


def by(user: int, root: Path, act: Callable[[Path], Any], umask: int = 0o022) -> Any:
    """Return the result of `act(root)` in a process of this user."""

    def run(_: int) -> Any:
        become(user, umask)
        with patch.object(history_index, "CACHE_FROM_BYTES", 0):
            return act(root)

    ((_, result),) = forked([0], run, seconds=60)
    return result


def made(root: Path, mode: int) -> Path:
    root.parent.chmod(0o711)
    root.mkdir()
    os.chown(root, -1, TEAM)
    root.chmod(mode)
    return root
