"""The journal of an undo has a version of its own, and the next call completes it if it is ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.errors import UndoRefused
from nexus_mcp.server.app import App
from nexus_mcp.store import journal
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import Died
from tests.store.oplog_support import PLAN, answered, entries, files, take_back
from tests.store.test_undo_crashes import Files, Template

JOURNAL = ".nexus/state/txn.json"


@pytest.fixture
def recorded(fast_path: Path) -> tuple[Path, Files]:
    """Return a project with a recorded, unapplied undo of three files, and the expected files."""
    template = Template(fast_path / "project", changes=True)
    with patch.object(journal, "apply", side_effect=Died), pytest.raises(Died):
        take_back(fast_path / "project", 3)
    return fast_path / "project", template.before


def record_of(root: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((root / JOURNAL).read_bytes())
    return value


@pytest.mark.requirement("storage.pending", "undo.all-or-nothing")
@pytest.mark.parametrize("tool", ["context", "task_list", "plan_start"])
def test_any_call_completes_an_interrupted_undo(recorded: tuple[Path, Files], tool: str) -> None:
    """Any next call restores the files and adds the log entry before its response is sent."""
    root, before = recorded
    there = record_of(root)
    assert (there["version"], there["cycle"], there["answer"]) == (2, None, None)
    answered(root, tool, PLAN if tool == "plan_start" else {})
    if tool != "plan_start":
        assert files(root) == before
    assert not (root / JOURNAL).exists()
    assert [entry["id"] for entry in entries(root) if entry["tool"] == "undo"] == [there["id"]]


@pytest.mark.requirement("undo.interrupted", "undo.dry-run")
@pytest.mark.parametrize("dry_run", [False, True])
def test_repeated_undo_after_an_interrupted_one_is_refused_once(recorded: tuple[Path, Files], dry_run: bool) -> None:
    """An undo that completes an interrupted one is refused once and takes back nothing itself; the next one works."""
    root, before = recorded
    told = "interrupted was completed just now: it took back 3 changes; this call changed nothing itself"
    with pytest.raises(UndoRefused, match=told):
        take_back(root, 3, dry_run=dry_run)
    assert files(root) == before
    assert [entry["tool"] for entry in entries(root)].count("undo") == 1
    assert take_back(root)["files"] == {"artifacts/a/b.md": False}


@pytest.mark.requirement("undo.interrupted")
def test_undo_completed_by_another_call_is_logged(recorded: tuple[Path, Files]) -> None:
    """An undo that another call completed is in the log, and no later undo is refused for it."""
    root, _ = recorded
    answered(root, "context")
    assert len(entries(root)[-1]["undoes"]) == 3
    assert take_back(root)["files"] == {"artifacts/a/b.md": False}


def test_a_cycle_keeps_the_older_version(fast_path: Path) -> None:
    """A journal with a cycle is one that an older nexus-mcp knows, too."""
    Template(fast_path / "project", changes=False)
    with patch.object(journal, "apply", side_effect=Died), pytest.raises(Died):
        answered(fast_path / "project", "task_close")
    assert record_of(fast_path / "project")["version"] == 1


@pytest.mark.requirement("storage.conflict", "undo.all-or-nothing")
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("plan.json", "conflict-{}-plan.json"),
        ("tasks.json", "conflict-{}-tasks.json"),
        ("artifacts/a/b.md", "artifacts/a/conflict-{}-b.md"),
    ],
)
def test_file_changed_before_the_recovery_of_an_undo_is_kept(
    recorded: tuple[Path, Files], name: str, kept: str
) -> None:
    """A file that another program wrote between crash and recovery is kept under another name."""
    root, before = recorded
    id_ = record_of(root)["id"]
    (root / ".nexus/state" / name).write_bytes(b"theirs")
    answered(root, "context")
    found = files(root)
    found.pop(kept.format(id_), None)
    assert found == before
    assert (root / ".nexus/state" / kept.format(id_)).read_bytes() == b"theirs"


def test_artifact_is_restored_without_its_folder(recorded: tuple[Path, Files]) -> None:
    """An artifact is restored although its folder is missing."""
    root, before = recorded
    (root / ".nexus/state/artifacts/a/b.md").unlink()
    for left in (root / ".nexus/state/artifacts/a").iterdir():
        left.unlink()
    (root / ".nexus/state/artifacts/a").rmdir()
    (root / ".nexus/state/artifacts").rmdir()
    answered(root, "context")
    assert files(root) == before


def everything(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and path.name != "lock"}


CYCLE: dict[str, Any] = {
    "schema_version": "0.5",
    "completed_at": "2026-01-01T00:00:00.000Z",
    "branch": "main",
    "plan": None,
    "tasks": [],
}
NAMES = ("../../src.py", "artifacts/../../../src.py", "artifacts/a\\b", "artifacts", "history.json", "lock", "")


@pytest.mark.requirement("storage.journal-version")
@pytest.mark.parametrize(
    "change",
    [
        {"version": 1}, {"version": 3}, {"version": 2.5}, {"version": True}, {"cycle": CYCLE}, {"cycle": {}},
        {"answer": {}}, {"log": None}, {"log": {}}, {"id": "../x"}, {"files": None},
        *({"name": name} for name in NAMES),
    ],
    ids=str,
)  # fmt: skip
def test_foreign_journals_are_not_applied(recorded: tuple[Path, Files], change: dict[str, Any]) -> None:
    """A journal without a cycle that is not whole, or names files elsewhere, is not applied and stays."""
    root, _ = recorded
    there = record_of(root)
    if "name" in change:
        there["files"][0].update(change, content="planted")
    else:
        there.update(change)
    (root / JOURNAL).write_text(json.dumps(there))
    before = everything(root)
    for tool in ("context", "task_close"):
        answer = App(Workspace(str(root))).call(tool, {})
        assert "txn.json" in answer.result["structuredContent"]["error"]
    assert everything(root) == before


def test_journal_without_a_cycle_is_no_receipt(recorded: tuple[Path, Files]) -> None:
    """A journal without a cycle under the name of a receipt is no answer, and stays."""
    root, _ = recorded
    receipt = root / f".nexus/state/closed-{record_of(root)['id']}.json"
    receipt.write_bytes((root / JOURNAL).read_bytes())
    answered(root, "task_close")
    assert answered(root, "task_close")["total_cycles"] == 2
    assert receipt.exists()
