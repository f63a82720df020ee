"""A failed change has no entry in the operation log, and a change without an entry still succeeds."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.state import oplog as logged
from nexus_mcp.store import atomic
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import entries

TASK = {"title": "Do", "context": "because"}
BROKEN = OSError(errno.EIO, "Input/output error")


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", TASK).confirm_delivery()
    return app


def told(answer: Any) -> Any:
    return answer.result["structuredContent"]


@pytest.mark.parametrize("failing", ["sync", "exchange"])
def test_a_change_that_fails_is_neither_noted_nor_answered(app: App, tmp_path: Path, failing: str) -> None:
    """Neither the log nor a later answer has any part of a failed change."""
    noted = len(entries(tmp_path))
    broken = patch.object(atomic, "exchange", side_effect=BROKEN)
    if failing == "sync":
        broken = patch.object(atomic, "_sync", side_effect=BROKEN)
    with broken:
        answer = app.call("task_add", TASK)
    assert "nothing was changed" in told(answer)["error"]
    assert len(entries(tmp_path)) == noted
    assert told(app.call("task_add", {**TASK, "title": "Another"}))["task"]["title"] == "Another"
    assert told(app.call("plan_status", {})) == {"active": False}
    assert len(entries(tmp_path)) == noted + 1


def test_failed_entry_is_not_retried(app: App, tmp_path: Path) -> None:
    """Making the entry is not tried again: the change is made, and not noted."""
    noted = len(entries(tmp_path))
    with patch.object(logged, "entry", side_effect=MemoryError) as entry:
        assert told(app.call("task_add", TASK))["task"]["id"] == 2
    assert entry.call_count == 1
    assert len(entries(tmp_path)) == noted
