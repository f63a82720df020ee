"""The lock is released before the folder is synced; the answer waits for the sync."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.locks import is_held
from tests.store.oplog_support import answered

TASK = {"title": "Do", "context": "because"}
NOTE = {"filename": "a.md", "content": "A"}
PLAN: dict[str, Any] = {"topic": "T", "issues": ["I"], "research_summary": ""}


@pytest.mark.parametrize(
    ("tool", "arguments", "held"),
    [
        ("task_add", TASK, [False]),
        ("plan_update", {"action": "add", "title": "J"}, [False]),
        ("artifact_write", NOTE, [True]),
        ("task_close", {}, [True, True, True]),
    ],
)
def test_state_folder_is_synced_after_the_release(
    tmp_path: Path, tool: str, arguments: dict[str, Any], held: list[bool]
) -> None:
    """`state/` is synced after the lock's release for a change of one file in it, under the lock for any other
    change.
    """
    for name, given in (("plan_start", PLAN), ("task_add", TASK), ("artifact_write", NOTE)):
        answered(tmp_path, name, given)
    seen: list[bool] = []
    real = Folder.sync

    def sync(self: Folder) -> None:
        if self.shown.startswith(".nexus/state"):
            seen.append(is_held(tmp_path))
        real(self)

    with patch.object(Folder, "sync", sync):
        answered(tmp_path, tool, arguments)
    assert seen[: len(held)] == held
    assert len(set(seen)) == 1


def test_next_change_builds_on_an_unsynced_one(tmp_path: Path) -> None:
    """An unsynced change is visible to the next one, and on disk before the response to the next one."""
    answered(tmp_path, "task_add", TASK)
    real = Folder.sync
    ids: list[int] = []
    synced: list[str] = []

    def sync(self: Folder) -> None:
        if not ids and self.shown == ".nexus/state":
            ids.append(0)
            ids.append(answered(tmp_path, "task_add", TASK)["task"]["id"])
            assert synced == [".nexus/state"]
        synced.append(self.shown)
        real(self)

    with patch.object(Folder, "sync", sync):
        first = answered(tmp_path, "task_add", TASK)["task"]["id"]
    assert (first, ids[1], synced) == (2, 3, [".nexus/state", ".nexus/state"])


@pytest.mark.parametrize(("tool", "arguments"), [("task_add", TASK), ("plan_start", PLAN)])
def test_receipt_is_removed_only_after_the_next_change_is_on_disk(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    """Where the answer of a close is still kept, `state/` is synced before that goes, and the lock is held until then.

    A power cut could otherwise keep the removal alone, and the close, called again, would be recorded a second time.
    """
    answered(tmp_path, "task_add", TASK)
    App(Workspace(str(tmp_path))).call("task_close", {}).drop_delivery()
    seen: list[tuple[bool, int]] = []
    real = Folder.sync

    def sync(self: Folder) -> None:
        if self.shown == ".nexus/state":
            seen.append((is_held(tmp_path), len(list((tmp_path / ".nexus/state").glob("closed-*")))))
        real(self)

    with patch.object(Folder, "sync", sync):
        answered(tmp_path, tool, arguments)
    assert seen == [(True, 1)]
    assert list((tmp_path / ".nexus/state").glob("closed-*")) == []


def test_receipt_stays_if_the_sync_fails(tmp_path: Path) -> None:
    """A sync that fails is reported as usual, and tried once; the receipt of the earlier close stays."""
    answered(tmp_path, "task_add", TASK)
    App(Workspace(str(tmp_path))).call("task_close", {}).drop_delivery()
    with patch.object(Folder, "sync", side_effect=OSError(errno.EIO, os.strerror(errno.EIO))) as sync:
        told = App(Workspace(str(tmp_path))).call("task_add", TASK).result["structuredContent"]["error"]
    assert "the disk did not confirm it: Input/output error" in told
    assert sync.call_count == 1
    assert len(list((tmp_path / ".nexus/state").glob("closed-*"))) == 1


def test_failed_sync_is_reported(tmp_path: Path) -> None:
    """The change is stored and is not repeated; the next change builds on it."""
    answered(tmp_path, "task_add", TASK)
    with patch.object(Folder, "sync", side_effect=OSError(errno.EIO, os.strerror(errno.EIO))):
        told = App(Workspace(str(tmp_path))).call("task_add", TASK).result["structuredContent"]["error"]
    assert "tasks.json was made, but the disk did not confirm it: Input/output error" in told
    assert answered(tmp_path, "task_add", TASK)["task"]["id"] == 3


def test_failed_sync_is_reported_after_later_changes(tmp_path: Path) -> None:
    """The failure is reported even if another change archived the file meanwhile: the error names no file that has to
    exist.
    """
    answered(tmp_path, "task_add", TASK)
    closed: list[Any] = []

    def sync(self: Folder) -> None:
        if not closed:
            closed.append(None)
            with patch.object(Folder, "sync", real):
                closed[0] = answered(tmp_path, "task_close", {})
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    real = Folder.sync
    with patch.object(Folder, "sync", sync):
        told = App(Workspace(str(tmp_path))).call("task_add", TASK).result["structuredContent"]["error"]
    assert closed[0]["archived"]["tasks"] == 2
    assert told == (
        "The change of .nexus/state/tasks.json was made, but the disk did not confirm it: Input/output error. "
        "Before you repeat the change, look for its result, which may be archived or changed since. Check the disk."
    )
