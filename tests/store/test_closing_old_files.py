"""Replaced files stay open until the answer was sent, and are then closed once."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import atomic
from nexus_mcp.workspace import Workspace

TASK = {"title": "Do", "context": "because"}


def kept_open(root: Path) -> list[str]:
    """Return the former names of removed files below `root` that this process still has open."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue  # that of the folder itself
        if target.startswith(f"{root}/") and target.endswith(" (deleted)"):
            found.append(os.path.basename(target.removesuffix(" (deleted)")).rpartition("-")[2])
    return found


@pytest.mark.parametrize("end", ["confirm_delivery", "drop_delivery"])
def test_old_file_is_closed_after_the_response(tmp_path: Path, end: str) -> None:
    """The old list is closed after the response was sent, or can no longer be sent."""
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", TASK).confirm_delivery()
    assert kept_open(tmp_path) == []
    answer = app.call("task_add", TASK)
    assert kept_open(tmp_path) == ["tasks.json"]
    getattr(answer, end)()
    assert kept_open(tmp_path) == []


def test_one_replaced_file_at_most_stays_open(tmp_path: Path) -> None:
    """A caller that never reports a sent response keeps at most one file open, and none after the store is freed."""
    app = App(Workspace(str(tmp_path)))
    for _ in range(5):
        app.call("task_add", TASK)
    assert kept_open(tmp_path) == ["tasks.json"]
    app.call("plan_start", {"topic": "T", "issues": ["I"], "research_summary": ""})
    assert kept_open(tmp_path) == []
    del app
    assert kept_open(tmp_path) == []


def test_a_change_that_fails_keeps_nothing(tmp_path: Path) -> None:
    """A rename that fails leaves the file in its place, and no descriptor."""
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", TASK).confirm_delivery()
    descriptors = len(os.listdir("/proc/self/fd"))
    with patch.object(atomic, "exchange", side_effect=OSError(errno.EIO, "Input/output error")):
        answer = app.call("task_add", TASK)
    assert answer.result["isError"] is True
    assert len(os.listdir("/proc/self/fd")) == descriptors
