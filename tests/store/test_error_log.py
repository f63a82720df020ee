"""The log of hook failures when it cannot be written."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from nexus_mcp.store import harness_files
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.support import Project


def test_a_full_disk_leaves_no_descriptor(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was opened for a line that could not be written is closed, also when a new file was begun for it."""
    workspace = Workspace(str(project.root))
    project.state.mkdir(parents=True)
    harness_files.log_hook_error(workspace, "2026-01-02T03:04:05.000Z", "first", "x")
    log = project.state / workspace.harness_id / harness_files.ERROR_LOG
    log.write_bytes(log.read_bytes() + b" " * harness_files.ERROR_LOG_MAX_BYTES)
    opened: list[int] = []
    real = Folder.open

    def kept(self: Folder, name: str, flags: int, *others: Any) -> int:
        opened.append(real(self, name, flags, *others))
        return opened[-1]

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Folder, "open", kept)
    monkeypatch.setattr(os, "write", full)
    harness_files.log_hook_error(workspace, "2026-01-02T03:04:05.000Z", "second", "x")
    monkeypatch.undo()
    assert len(opened) == 2
    for fd in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
