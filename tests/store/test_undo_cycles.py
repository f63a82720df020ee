"""Undo never passes a cycle that this project closed, whatever the dates of other cycles."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.errors import UndoRefused
from nexus_mcp.server.app import App
from nexus_mcp.store import atomic, journal, jsonl, oplog
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import PLAN, TASK, entries, files, take_back
from tests.support import SMALLEST, Clock

LOG = ".nexus/state/oplog.jsonl"


def call(root: Path, clock: Clock, name: str, arguments: dict[str, Any]) -> None:
    answer = App(Workspace(str(root)), now=clock).call(name, arguments)
    answer.confirm_delivery()
    assert answer.result["isError"] is False, answer.result
    clock.advance()


def unlogged(clock: Clock, root: Path, name: str, failing: str) -> None:
    """Make a call while its line cannot be added to the log, or made, or synced."""
    where = {"append": (jsonl, "append"), "line": (oplog, "_line"), "sync": (atomic, "sync_file")}[failing]
    with patch.object(*where, side_effect=OSError(errno.ENOSPC, "No space left on device")):
        call(root, clock, name, SMALLEST[name])


@pytest.mark.requirement("undo.history")
@pytest.mark.parametrize("failing", ["append", "line", "sync"])
@pytest.mark.parametrize("barrier", ["task_close", "plan_start"])
def test_unlogged_cycle_stops_undo(tmp_path: Path, clock: Clock, barrier: str, failing: str) -> None:
    """A log that lacks a cycle is set aside, so that undo cannot take back a change from before the cycle."""
    call(tmp_path, clock, "plan_start", PLAN)
    call(tmp_path, clock, "task_add", TASK)
    call(tmp_path, clock, "artifact_write", {"filename": "a", "content": "first"})
    logged = (tmp_path / LOG).read_bytes()
    unlogged(clock, tmp_path, barrier, failing)
    assert (tmp_path / ".nexus/state/conflict-oplog.jsonl").read_bytes().startswith(logged)
    before = files(tmp_path)
    with pytest.raises(UndoRefused, match="has no changes"):
        take_back(tmp_path)
    assert files(tmp_path) == before
    call(tmp_path, clock, "artifact_write", {"filename": "b", "content": ""})
    with pytest.raises(UndoRefused, match="nexus-mcp undo 1 takes that one back"):
        take_back(tmp_path, 2)
    take_back(tmp_path)
    assert files(tmp_path) == before


@pytest.mark.requirement("undo.history")
@pytest.mark.parametrize("barrier", ["task_close", "plan_start"])
def test_entry_of_a_cycle_is_synced_before_its_journal_is_removed(tmp_path: Path, clock: Clock, barrier: str) -> None:
    """No power cut keeps a cycle out of the log: the journal stays until the entry is on disk."""
    call(tmp_path, clock, "plan_start", PLAN)
    seen: list[tuple[bool, int]] = []
    real = atomic.sync_file

    def sync(folder: Folder, name: str) -> None:
        real(folder, name)
        seen.append((folder.check_plain(journal.NAME), len(entries(tmp_path))))

    with patch.object(atomic, "sync_file", sync):
        call(tmp_path, clock, barrier, SMALLEST[barrier])
    assert seen == [(True, 2)]


@pytest.mark.requirement("undo.history")
@pytest.mark.parametrize(
    "time",
    [
        "2030-01-01T00:00:00.000Z", "2030-01-01T01:00:00+01:00", "2029-12-31T23:59:59.999Z", "2099-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z", "2026-13-45T99:99:99.999Z", "once", 7,
    ],
)  # fmt: skip
def test_cycles_of_others_do_not_hinder_undo(tmp_path: Path, time: object) -> None:
    """Undo works with any cycles that a merge added, and with any dates of them."""
    clock = Clock(1_893_456_000_000)  # 2030-01-01
    call(tmp_path, clock, "task_add", TASK)
    call(tmp_path, clock, "artifact_write", {"filename": "a", "content": ""})
    cycle = {"schema_version": "0.5", "completed_at": time, "branch": "", "plan": None, "tasks": []}
    (tmp_path / ".nexus/history.json").write_text(json.dumps({"cycles": [cycle]}))
    call(tmp_path, clock, "artifact_write", {"filename": "b", "content": ""})
    assert len(take_back(tmp_path, 3)["undone"]) == 3
    assert files(tmp_path) == {}


@pytest.mark.requirement("undo.history")
def test_a_history_that_cannot_be_read_does_not_hinder_undo(tmp_path: Path, clock: Clock) -> None:
    """The operation log shows which changes came before a close, so undo needs no history."""
    call(tmp_path, clock, "task_add", TASK)
    (tmp_path / ".nexus/history.json").write_bytes(b"<<<<<<< ours")
    take_back(tmp_path)
    assert files(tmp_path) == {}
    assert (tmp_path / ".nexus/history.json").read_bytes() == b"<<<<<<< ours"
