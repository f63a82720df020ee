"""Folders and lock are always released, and the change after a failed one sweeps."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import NexusError, PathRefused, StorageError
from nexus_mcp.server.app import App
from nexus_mcp.store import close_receipt, lock
from nexus_mcp.store.access import Access, WriterLock
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.locks import is_held
from tests.store.oplog_support import answered

TASK = {"title": "Do", "context": "because"}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def access(tmp_path: Path) -> Access:
    """The access to a workspace in which something was written."""
    answered(tmp_path, "task_add", TASK)
    return Access(str(tmp_path), 0.0)


def test_folders_that_cannot_all_be_opened_are_closed(access: Access) -> None:
    """A link in place of `state` is refused, and `.nexus` is not left open."""
    state = Path(access.root, ".nexus/state")
    state.rename(state.with_name("elsewhere"))
    state.symlink_to("elsewhere")
    before = descriptors()
    for _ in range(3):
        with pytest.raises(PathRefused), access.folders():
            raise AssertionError("followed a link")
    assert descriptors() == before


FAILING: dict[str, Callable[[], object]] = {
    "looking for the lock": lambda: patch.object(lock, "_check_file", side_effect=StorageError("x", "look at", "y")),
    "taking it": lambda: patch("fcntl.flock", side_effect=OSError(errno.EIO, "Input/output error")),
    "interrupted": lambda: patch.object(lock, "clean_mark", side_effect=KeyboardInterrupt),
    "looking for a journal": lambda: patch.object(Folder, "names", side_effect=StorageError("x", "list", "y")),
    "out of memory": lambda: patch.object(Folder, "names", side_effect=MemoryError),
}


@pytest.mark.parametrize("what", FAILING)
def test_a_beginning_that_fails_holds_nothing(access: Access, what: str) -> None:
    """After any failure before or after taking the lock, the lock is free and no descriptor is open."""
    before = descriptors()
    with (
        FAILING[what](),  # type: ignore[attr-defined]
        pytest.raises((NexusError, KeyboardInterrupt, MemoryError)),
        access.writing(),
    ):
        raise AssertionError("entered all the same")
    assert descriptors() == before
    assert not is_held(Path(access.root))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("mine"), StorageError("x", "write", "y")])
def test_failing_block_releases_the_lock(access: Access, error: BaseException) -> None:
    """The exception of the block is raised unchanged, and a deferred sync of the folder is made nonetheless."""
    before, done = descriptors(), list[int]()

    def fail(at: WriterLock) -> None:
        at.held.afterwards = lambda: done.append(descriptors())
        assert is_held(Path(access.root))
        raise error

    with pytest.raises(type(error)) as told, access.writing() as at:
        fail(at)
    assert told.value is error
    assert descriptors() == before
    assert done == [before + 3]  # the lock is let go by then, the three folders are not closed
    assert not is_held(Path(access.root))


def test_replaced_lock_file_is_closed(access: Access) -> None:
    """A process whose lock file lost its name releases that file, and locks the new one."""
    real, left = Folder.look, [3]

    def look(folder: Folder, name: str) -> os.stat_result | None:
        if name == lock.NAME and left[0]:
            left[0] -= 1
            Path(access.root, ".nexus/state/lock").unlink(missing_ok=True)
        return real(folder, name)

    before = descriptors()
    with patch.object(Folder, "look", look), access.writer_lock():
        assert left == [0]
    assert descriptors() == before


def test_failure_after_the_first_write_keeps_the_gitignore(tmp_path: Path) -> None:
    """If memory runs out after a first change was written, `.gitignore` stays, and the call reports no failure."""
    receipt = tmp_path / ".nexus/state/closed-1.json"
    receipt.parent.mkdir(parents=True)
    receipt.touch()
    with patch.object(close_receipt, "forget", side_effect=MemoryError):
        told = App(Workspace(str(tmp_path))).call("task_add", TASK).result["structuredContent"]["error"]
    assert "check the present state" in told
    found = {path.name for path in (tmp_path / ".nexus").rglob("*") if path.is_file()}
    assert found == {".gitignore", "lock", "tasks.json", "oplog.jsonl", receipt.name}


def test_after_a_change_that_failed_the_next_one_sweeps(access: Access) -> None:
    """A temporary file that a failed change could not remove is removed by the next change of the process."""
    left = Path(access.root, ".nexus/state/.nexus-tmp-0123456789abcdef")

    def fail(at: WriterLock) -> None:
        at.begin()
        left.write_bytes(b"half")
        raise ValueError("mine")

    with access.writing() as at:
        at.begin()
    with pytest.raises(ValueError, match="mine"), access.writing() as at:
        fail(at)
    with access.writing() as at:
        at.begin()
    assert not left.exists()
