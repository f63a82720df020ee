"""A journal too large to be read back is not written, and one that is found is refused as malformed."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import JournalError, NewerJournal, StateError
from nexus_mcp.server.app import App
from nexus_mcp.store import journal
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import PLAN, TASK, answered, files, take_back


def refused(root: Path, tool: str) -> str:
    answer = App(Workspace(str(root))).call(tool, {})
    assert answer.result["isError"] is True
    return str(answer.result["structuredContent"]["error"])


def test_change_too_large_for_its_journal_is_refused(tmp_path: Path) -> None:
    """Before the commit point: an undo, or a close, whose journal would be too large to read changes nothing."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "artifact_write", {"filename": "a", "content": "x" * 3000})
    answered(tmp_path, "artifact_write", {"filename": "b", "content": "y" * 3000})
    answered(tmp_path, "artifact_write", {"filename": "a", "content": ""})
    answered(tmp_path, "artifact_write", {"filename": "b", "content": ""})
    before = files(tmp_path)
    with patch.object(journal, "HISTORY_LIMIT", 6000):
        with pytest.raises(StateError, match=r"nothing was changed\. Take back fewer changes at a time"):
            take_back(tmp_path, 2)
        assert files(tmp_path) == before
        take_back(tmp_path, 1)
    answered(tmp_path, "task_add", TASK)
    with patch.object(journal, "HISTORY_LIMIT", 900):
        assert "txn.json would grow beyond" in refused(tmp_path, "task_close")
    assert answered(tmp_path, "task_close")["archived"]["tasks"] == 1


@pytest.mark.parametrize("tool", ["context", "plan_status", "task_close"])
def test_too_large_journal_stops_every_call(tmp_path: Path, tool: str) -> None:
    """No call answers beside a journal that cannot be read, not even context."""
    answered(tmp_path, "task_add", TASK)
    (tmp_path / ".nexus/state/txn.json").write_bytes(bytes(1001))
    with patch.object(journal, "HISTORY_LIMIT", 1000):
        told = refused(tmp_path, tool)
    assert "txn.json should hold a pending change, but is larger than" in told
    assert "this call changed nothing itself" in told
    assert journal.DAMAGED_ADVICE in told


@pytest.mark.parametrize(
    ("content", "kind"), [('{"version": 4}', NewerJournal), ('{"version": 1}', JournalError), ("", JournalError)]
)
def test_newer_journal_is_not_reported_as_damaged(tmp_path: Path, content: str, kind: type[JournalError]) -> None:
    """A journal of a later version is distinguished from a damaged one."""
    (tmp_path / "txn.json").write_text(content)
    with Folder.root(str(tmp_path)) as state, pytest.raises(JournalError) as raised:
        journal.read_pending(state)
    assert type(raised.value) is kind


@pytest.mark.parametrize("name", ["a" * 33, "é", "a-b", "", 5])
def test_invalid_ids_are_refused(name: object) -> None:
    """An id is short and plain enough to be part of the name of a file."""
    assert journal.is_id("a" * 32)
    assert not journal.is_id(name)
