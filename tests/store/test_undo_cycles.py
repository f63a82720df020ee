"""Undo and cycles that the operation log does not tell of: what may be older than one of them stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import UndoRefused
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.store.logged import PLAN, TASK, entries, files, take_back
from tests.support import SMALLEST, Clock

LOG = ".nexus/state/oplog.jsonl"


def call(root: Path, clock: Clock, name: str, arguments: dict[str, Any]) -> None:
    answer = App(Workspace(str(root)), now=clock).call(name, arguments)
    answer.delivered()
    assert answer.result["isError"] is False, answer.result
    clock.advance()


def without_its_note(root: Path, clock: Clock, name: str) -> None:
    """A call while the log cannot be written."""
    (root / LOG).rename(root / "oplog.aside")
    (root / LOG).mkdir()
    call(root, clock, name, SMALLEST[name])
    (root / LOG).rmdir()
    (root / "oplog.aside").rename(root / LOG)


@pytest.mark.requirement("undo.history")
@pytest.mark.parametrize("barrier", ["task_close", "plan_start"])
def test_a_cycle_whose_note_failed(tmp_path: Path, clock: Clock, barrier: str) -> None:
    """What a cycle that is not in the log came after stays, although its files are as the log says."""
    call(tmp_path, clock, "plan_start", PLAN)
    call(tmp_path, clock, "task_add", TASK)
    call(tmp_path, clock, "artifact_write", {"filename": "a", "content": "first"})
    without_its_note(tmp_path, clock, barrier)
    before = files(tmp_path)
    with pytest.raises(UndoRefused, match="that the operation log does not tell of, and artifact_write of"):
        take_back(tmp_path)
    assert files(tmp_path) == before
    call(tmp_path, clock, "artifact_write", {"filename": "b", "content": ""})
    with pytest.raises(UndoRefused, match="nexus-mcp undo 1 is the most"):
        take_back(tmp_path, 2)
    take_back(tmp_path)
    assert files(tmp_path) == before


@pytest.mark.requirement("undo.history")
@pytest.mark.parametrize(
    ("time", "refused"),
    [
        ("2030-01-01T00:00:00.000Z", True),
        ("2030-01-01T01:00:00+01:00", True),
        ("2029-12-31T23:59:59.999Z", False),
        ("2030-01-01T00:59:59.999+01:00", False),
        ("once", False),
        (7, False),
    ],
)
def test_a_cycle_that_came_with_a_merge(tmp_path: Path, time: object, refused: bool) -> None:
    """A cycle of another branch counts by its time, whatever its offset; one without a time does not."""
    clock = Clock(1_893_456_000_000)  # 2030-01-01
    call(tmp_path, clock, "artifact_write", {"filename": "a", "content": ""})
    assert entries(tmp_path)[0]["at"] == "2030-01-01T00:00:00.000Z"
    cycle = {"schema_version": "0.5", "completed_at": time, "branch": "", "plan": None, "tasks": []}
    (tmp_path / ".nexus/history.json").write_text(json.dumps({"cycles": [cycle]}))
    if refused:
        with pytest.raises(UndoRefused, match="may be older"):
            take_back(tmp_path)
    else:
        assert len(take_back(tmp_path)["undone"]) == 1
