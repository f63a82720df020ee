"""The first write of a workspace: which folders it syncs, and which process does so."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import commit, lock
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import answered

LOCK = ".nexus/state/lock"
TASK = {"title": "Do", "context": "because"}


def synced(root: Path) -> list[str]:
    """Return the paths that one more task_add syncs, in order, from the project root; a temporary file is "new"."""
    seen: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        name = str(path.relative_to(root.resolve()))
        seen.append("new" if ".nexus-tmp-" in name else name)
        real(fd)

    with patch("os.fsync", fsync):
        answered(root, "task_add", TASK)
    return seen


FILE = ["new", ".nexus/state"]
WAY = [".", ".nexus"]


def test_a_first_write_syncs_each_thing_once(tmp_path: Path) -> None:
    """It syncs `.gitignore`, the new folders with their entries, and the file; the next write syncs only the file."""
    assert synced(tmp_path) == ["new", *WAY, *FILE]
    assert synced(tmp_path) == FILE
    assert (tmp_path / LOCK).read_bytes() == lock.clean_mark((tmp_path / LOCK).stat())


@pytest.mark.parametrize("left", [b"", b"4711      \n"])
def test_dead_creator_of_folders_is_not_trusted(tmp_path: Path, left: bytes) -> None:
    """It is unknown whether the dead process synced the folders: the next writer syncs them and marks the lock."""
    synced(tmp_path)
    (tmp_path / LOCK).write_bytes(left)
    assert synced(tmp_path) == [*WAY, *FILE]
    assert synced(tmp_path) == FILE


def test_gitignore_written_later_is_synced(tmp_path: Path) -> None:
    """The next write restores a removed `.gitignore`, and syncs it."""
    synced(tmp_path)
    (tmp_path / ".nexus" / ".gitignore").unlink()
    assert synced(tmp_path) == ["new", *WAY, *FILE]


def test_a_folder_that_cannot_be_synced_fails_the_first_write(tmp_path: Path) -> None:
    """Nothing is left of a first write that could not be kept."""
    with patch("nexus_mcp.store.folder.Folder.sync", side_effect=OSError(5, "Input/output error")):
        refused = App(Workspace(str(tmp_path))).call("task_add", TASK, "Client 1").result
    assert refused["isError"] is True
    assert "sync" in refused["structuredContent"]["error"]
    assert not (tmp_path / ".nexus").exists()


@pytest.mark.parametrize("left", ["copied", "of zeros", "cut short"])
def test_a_lock_from_elsewhere_vouches_for_nothing(tmp_path: Path, left: str) -> None:
    """A copy of the folder, or one out of a repository, has a lock of another inode; a power cut may leave zeros."""
    synced(tmp_path)
    path = tmp_path / LOCK
    data = path.read_bytes()
    os.link(path, tmp_path / "kept")  # so that the inode is not given again
    path.unlink()
    path.write_bytes({"copied": data, "of zeros": bytes(len(data)), "cut short": data[:20]}[left])
    assert synced(tmp_path) == [*WAY, *FILE]
    assert synced(tmp_path) == FILE


def test_files_of_another_process_are_not_removed(tmp_path: Path) -> None:
    """A first write whose lock was removed fails; the lock and the `.gitignore` of the later process stay."""
    real = commit.write_one

    def put_one(*told: Any, **more: Any) -> None:
        with patch.object(commit, "write_one", real):
            (tmp_path / LOCK).unlink()
            answered(tmp_path, "task_add", TASK)
        real(*told, **more)

    with patch.object(commit, "write_one", put_one):
        refused = App(Workspace(str(tmp_path))).call("task_add", TASK, "Client 1").result
    assert "removed or replaced" in refused["structuredContent"]["error"]
    found = {path.name for path in (tmp_path / ".nexus").rglob("*") if path.is_file()}
    assert found == {".gitignore", "lock", "tasks.json", "oplog.jsonl"}


def test_failed_neighbour_does_not_fail_a_first_write(tmp_path: Path) -> None:
    """A first write succeeds if another one, which failed, removed the folders that both had begun to use."""
    real, left = lock.acquire, [2]

    def held(state: Folder, *told: Any) -> Any:
        if left[0]:
            left[0] -= 1
            for folder in (tmp_path / ".nexus/state", tmp_path / ".nexus"):
                folder.rmdir()
        return real(state, *told)

    with patch.object(lock, "acquire", held):
        answered(tmp_path, "task_add", TASK)
    assert left == [0]


def test_file_system_without_locks_is_left_unchanged(tmp_path: Path) -> None:
    """A file system without locks refuses the first write, and looks as before."""
    with patch("fcntl.flock", side_effect=OSError(errno.ENOLCK, "No locks available")):
        refused = App(Workspace(str(tmp_path))).call("task_add", TASK, "Client 1").result
    assert "No locks available" in refused["structuredContent"]["error"]
    assert not (tmp_path / ".nexus").exists()
