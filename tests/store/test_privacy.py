"""A copy of a file has no wider permissions than the file."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.merging import repair
from nexus_mcp.server.app import App
from nexus_mcp.store import journal
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import Died
from tests.store.oplog_support import PLAN, TASK, answered


def modes(*paths: Path) -> list[str]:
    return [oct(path.stat().st_mode & 0o777) for path in paths]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A project with a cycle, a plan and tasks that only their owner can read."""
    answered(tmp_path, "task_close")
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "task_add", TASK)
    for name in ("history.json", "state/plan.json", "state/tasks.json"):
        (tmp_path / ".nexus" / name).chmod(0o600)
    return tmp_path


def test_journal_and_receipt_are_private(private: Path) -> None:
    """The journal of a close, its receipt, and files that are set aside are readable for their owner only."""
    state = private / ".nexus/state"
    with patch.object(journal, "apply", side_effect=Died), pytest.raises(Died):
        App(Workspace(str(private))).call("task_close", {})
    (state / "plan.json").write_text("{}")
    assert modes(state / "txn.json") == ["0o600"]
    answered(private, "context")
    left = [*state.glob("closed-*"), *state.glob("conflict-*")]
    assert (len(left), set(modes(*left))) == (2, {"0o600"})
    assert modes(private / ".nexus/history.json") == ["0o600"]


def test_file_set_aside_keeps_its_permissions(private: Path) -> None:
    """A file that is set aside keeps its permissions, even wider ones."""
    plan = private / ".nexus/state/plan.json"
    plan.chmod(0o640)
    with patch.object(journal, "apply", side_effect=Died), pytest.raises(Died):
        App(Workspace(str(private))).call("task_close", {})
    plan.write_text("{}")
    answered(private, "context")
    assert modes(*plan.parent.glob("conflict-*")) == ["0o640"]


def test_backup_of_a_repaired_history_is_as_private_as_the_history(private: Path) -> None:
    """The copy that a repair makes is as private as the history."""
    history = private / ".nexus/history.json"
    history.write_bytes(history.read_bytes()[:-4])
    assert repair.repair(str(private), damage=True).backup
    assert modes(history, private / ".nexus/history.backup.json") == ["0o600", "0o600"]
