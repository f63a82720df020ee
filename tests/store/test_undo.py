"""Undo restores the exact bytes, all requested changes or none, and never passes a cycle."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.errors import LockTimeout, UndoRefused
from nexus_mcp.server.app import App
from nexus_mcp.store.store import Store, undo
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import BY, PLAN, TASK, answered, entries, files, take_back
from tests.support import SMALLEST

MEMORY = "/dev/shm"  # where nothing has to survive, and fsync is free
CHANGES = st.sampled_from(
    [
        ("plan_start", PLAN),
        ("plan_update", {"action": "add", "title": "Ä漢😀"}),
        ("plan_update", {"action": "remove", "issue_id": 1}),
        ("plan_decide", {"issue_id": 2, "decision": 'With "quotes"\n'}),
        ("task_add", TASK),
        ("task_add", {**TASK, "goal": "G", "deps": [1]}),
        ("task_update", {"id": 1, "status": "completed"}),
        ("task_update", {"id": 1, "status": "pending"}),
        ("artifact_write", {"filename": "a/b.md", "content": "one\n"}),
        ("artifact_write", {"filename": "a/b.md", "content": "öne\n"}),
        ("artifact_write", {"filename": "c", "content": ""}),
        ("task_close", {}),
        ("undo", {"count": 1}),
        ("undo", {"count": 2}),
    ]
)


@pytest.mark.requirement("undo.exact", "undo.last-first", "undo.history")
@settings(max_examples=120)
@given(st.lists(CHANGES, max_size=14), st.integers(1, 4))
def test_undo_after_any_calls_restores_or_refuses(calls: list[tuple[str, dict[str, Any]]], count: int) -> None:
    """After any calls, undo N restores the files from before the last N changes, or refuses and changes none."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        root = Path(folder)
        app = App(Workspace(folder))
        stack: list[dict[str, bytes] | None] = []  # the files before each change that can be taken back, None: barrier
        for name, arguments in [*calls, ("undo", {"count": count})]:
            before, history = files(root), _history(root)
            if name != "undo":
                answer = app.call(name, arguments)
                answer.confirm_delivery()
                if not answer.result["isError"]:
                    stack.append(before if _history(root) == history else None)
                continue
            wanted = stack[-arguments["count"] :]
            if len(wanted) < arguments["count"] or None in wanted:
                with pytest.raises(UndoRefused):
                    take_back(root, arguments["count"])
                assert files(root) == before
            else:
                take_back(root, arguments["count"])
                assert files(root) == wanted[0]
                del stack[-arguments["count"] :]
            assert _history(root) == history


def _history(root: Path) -> bytes:
    path = root / ".nexus/history.json"
    return path.read_bytes() if path.exists() else b""


@pytest.mark.requirement("undo.exact")
def test_undo_returns_and_logs_the_changes_taken_back(tmp_path: Path) -> None:
    """The answer has the entries that were taken back; the log gets an entry of its own, without any text of a file."""
    answered(tmp_path, "task_add", TASK)
    answered(tmp_path, "plan_start", PLAN)
    there = entries(tmp_path)
    assert take_back(tmp_path, 2) == {"undone": there[::-1], "files": {"plan.json": False, "tasks.json": False}}
    *kept, own = entries(tmp_path)
    assert kept == there
    assert own == {
        "version": 1,
        "id": own["id"],
        "at": own["at"],
        "tool": "undo",
        "harness_id": "nexus-mcp",
        "client": "test",
        "what": "takes back 2 changes",
        "undoes": [entry["id"] for entry in there[::-1]],
        "files": [{"name": "plan.json", "after": None}, {"name": "tasks.json", "after": None}],
    }


@pytest.mark.requirement("undo.last-first")
def test_second_undo_takes_back_the_change_before(tmp_path: Path) -> None:
    """The next undo continues before the changes taken back, and new changes come first again."""
    for title in ("A", "B", "C"):
        answered(tmp_path, "task_add", {**TASK, "title": title})
    take_back(tmp_path)
    take_back(tmp_path)
    assert [task["title"] for task in _tasks(tmp_path)] == ["A"]
    answered(tmp_path, "task_add", {**TASK, "title": "D"})
    assert [entry["what"] for entry in take_back(tmp_path)["undone"]] == ["adds task 2"]
    assert [task["title"] for task in _tasks(tmp_path)] == ["A"]
    take_back(tmp_path)
    assert files(tmp_path) == {}


@pytest.mark.requirement("undo.exact")
def test_undo_restores_the_bytes_of_another_writer(tmp_path: Path) -> None:
    """A file in a foreign layout, with unknown fields, is restored exactly, BOM and line ends included."""
    answered(tmp_path, "plan_start", PLAN)
    theirs = '\ufeff{"x": 1.50,\r\n "goal":"ä","decisions":[],"tasks":[]}'.encode()
    (tmp_path / ".nexus/state/tasks.json").write_bytes(theirs)
    answered(tmp_path, "task_add", TASK)
    take_back(tmp_path)
    assert files(tmp_path)["tasks.json"] == theirs


@pytest.mark.requirement("undo.dry-run")
def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """With dry_run the answer is that of the real one, refusals included, and no byte is changed."""
    answered(tmp_path, "task_add", TASK)
    answered(tmp_path, "task_update", SMALLEST["task_update"])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    told = take_back(tmp_path, 2, dry_run=True)
    with pytest.raises(UndoRefused):
        take_back(tmp_path, 3, dry_run=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert take_back(tmp_path, 2) == told


@pytest.mark.requirement("undo.dry-run")
def test_dry_run_waits_for_a_running_change(tmp_path: Path) -> None:
    """A dry run waits for the change that is being made: its note is not there yet."""
    answered(tmp_path, "task_add", TASK)
    with Store(Workspace(str(tmp_path))).locked_state(), pytest.raises(LockTimeout):
        undo(Store(Workspace(str(tmp_path)), wait=0), BY, 1, dry_run=True)
    assert len(take_back(tmp_path, dry_run=True)["undone"]) == 1


def _tasks(root: Path) -> list[dict[str, Any]]:
    found = json.loads((root / ".nexus/state/tasks.json").read_bytes())["tasks"]
    assert isinstance(found, list)
    return found
