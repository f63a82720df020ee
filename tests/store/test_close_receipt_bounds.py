"""Many or large files that are named like receipts are skipped at little cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import close_receipt
from nexus_mcp.store.codec import decode
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import TASK, answered
from tests.store.test_close_receipts import closed_without_answer


@pytest.fixture
def parsed() -> Any:
    """The files that are parsed as receipts."""
    seen: list[str] = []

    def counted(data: bytes, file: str, depth: int) -> Any:
        seen.append(file)
        return decode(data, file, depth)

    with patch.object(close_receipt, "decode", counted):
        yield seen


def test_folder_named_like_a_receipt_is_skipped(tmp_path: Path) -> None:
    """A folder with the name of a receipt does not fail a call."""
    answered(tmp_path, "task_add", TASK)
    (tmp_path / ".nexus/state/closed-abc.json").mkdir()
    for total in (1, 2):
        assert answered(tmp_path, "task_close")["total_cycles"] == total
    answered(tmp_path, "task_add", TASK)
    assert (tmp_path / ".nexus/state/closed-abc.json").is_dir()


def test_large_foreign_receipts_are_not_parsed(tmp_path: Path, parsed: list[str]) -> None:
    """Beyond a total size only receipts that begin like ours are parsed; ours is found among them."""
    receipt = closed_without_answer(tmp_path)
    state = receipt.parent
    for number in range(20):
        (state / f"closed-00{number:02}.json").write_text(json.dumps({"a": "x" * 100}))
    for name in ("closed-" + "a" * 33 + ".json", "closed-é.json", "closed-a-b.json", "closed-.json", "closed-a.jsonl"):
        (state / name).write_text("{}")
    expected = json.loads(receipt.read_text())["answer"]
    with patch.object(close_receipt, "MAX_UNCHECKED_BYTES", 300):
        assert answered(tmp_path, "task_close") == expected
    assert len(parsed) == 3
    assert not receipt.exists()
    assert len(list(state.glob("closed-*"))) == 25


def test_number_of_opened_receipts_is_limited(tmp_path: Path, parsed: list[str]) -> None:
    """After a number of files with a receipt's name no more are opened."""
    answered(tmp_path, "task_add", TASK)
    for number in range(9):
        (tmp_path / f".nexus/state/closed-{number}.json").write_text("{}")
    with patch.object(close_receipt, "MOST_FILES", 5):
        answered(tmp_path, "task_add", TASK)
    assert len(parsed) == 5


def test_a_large_one_of_ours_is_dropped_unread(tmp_path: Path, parsed: list[str]) -> None:
    """A change drops the answer of a large close without reading more of it than how it begins."""
    receipt = closed_without_answer(tmp_path)
    with patch.object(close_receipt, "MAX_UNCHECKED_BYTES", 0):
        answered(tmp_path, "task_add", TASK)
    assert not receipt.exists()
    assert parsed == []


def test_one_of_another_id_is_not_dropped(tmp_path: Path) -> None:
    """A large file that begins as a receipt of another name stays."""
    receipt = closed_without_answer(tmp_path)
    other = receipt.with_name("closed-0123456789abcdef.json")
    receipt.rename(other)
    with patch.object(close_receipt, "MAX_UNCHECKED_BYTES", 0):
        answered(tmp_path, "task_add", TASK)
        assert App(Workspace(str(tmp_path))).call("task_close", {}).result["isError"] is False
    assert other.exists()
