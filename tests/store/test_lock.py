"""The workspace lock has one holder at a time, bounded waiting, and no fallback."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import LockTimeout, StorageError
from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder


@pytest.fixture
def state(tmp_path: Path) -> Folder:
    folder = Folder.root(str(tmp_path))
    folder.shown = ".nexus/state"
    return folder


def test_waiting_ends_with_the_holders_pid(state: Folder) -> None:
    """A call that waits in vain gets an error with the pid of the lock holder."""
    expected = rf"process {os.getpid()} has it, and no time is left to wait; nothing was changed"
    with lock.acquire(state), pytest.raises(LockTimeout, match=expected) as told, lock.acquire(state, wait=0):
        raise AssertionError("two holders at once")
    assert told.value.pid == os.getpid()


def test_a_wait_in_vain_leaves_nothing_locked(state: Folder) -> None:
    """After a timeout the lock is free as soon as its holder lets go, though a thread still waited for it."""
    with lock.acquire(state), pytest.raises(LockTimeout), lock.acquire(state, wait=0):
        raise AssertionError("two holders at once")
    with lock.acquire(state):
        assert (Path(state.path) / lock.NAME).read_text().strip() == str(os.getpid())
    assert (Path(state.path) / lock.NAME).read_text() == ""


def test_threads_of_one_process_exclude_each_other(state: Folder) -> None:
    """The lock is of the transaction, not of the process."""
    inside = 0
    most = 0

    def enter() -> None:
        nonlocal inside, most
        for _ in range(50):
            with lock.acquire(state):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_dead_holder_is_remembered_until_the_sweep(state: Folder) -> None:
    """Until a writer has swept the leftovers of the dead holder: a reader does not clear its mark."""
    path = Path(state.path) / lock.NAME
    path.write_text("4711\n")
    for sweeps in (False, True):
        with lock.acquire(state) as held:
            assert not held.orderly
            assert int(path.read_text()) == os.getpid()
            held.orderly = sweeps
        assert path.read_bytes() == (lock.clean_mark(path.stat()) if sweeps else b"4711\n")
    with lock.acquire(state) as held:
        assert held.orderly


def test_the_lock_file_outlives_its_holders(state: Folder) -> None:
    """A lock file that were deleted would let a waiter and a newcomer in together."""
    for _ in range(2):
        with lock.acquire(state):
            pass
        assert (Path(state.path) / lock.NAME).exists()


def test_a_lock_that_cannot_be_taken_is_an_error(state: Folder) -> None:
    """If the file system has no locks, nothing is written."""
    with (
        patch("fcntl.flock", side_effect=OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))),
        pytest.raises(StorageError, match="No locks available"),
        lock.acquire(state),
    ):
        raise AssertionError("entered without a lock")


def test_a_link_in_place_of_the_lock_is_refused(state: Folder, tmp_path: Path) -> None:
    """A planted link could make every workspace wait for one file, or truncate another."""
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / lock.NAME).symlink_to(victim)
    with pytest.raises(Exception, match="symbolic link"), lock.acquire(state):
        raise AssertionError("locked through a link")
    assert victim.read_text() == "kept"


def test_replaced_lock_file_lets_no_two_holders_in(state: Folder, tmp_path: Path) -> None:
    """A process that waited for a removed lock file takes the new one; the holder of the removed one gets an error
    before it writes.
    """
    path = tmp_path / lock.NAME
    with lock.acquire(state) as first:
        path.unlink()
        with pytest.raises(StorageError, match="removed or replaced"):
            first.check()
        with lock.acquire(state) as second:
            second.check()
            with pytest.raises(StorageError, match="removed or replaced"):
                first.check()


def test_a_file_of_two_names_is_not_signed(state: Folder, tmp_path: Path) -> None:
    """A hard link planted as the lock is locked, never written to."""
    outside = tmp_path / "outside"
    outside.write_text("kept")
    (tmp_path / lock.NAME).hardlink_to(outside)
    with lock.acquire(state):
        assert outside.read_text() == "kept"
    assert outside.read_text() == "kept"


def test_a_foreign_text_in_the_lock_file_stays(state: Folder, tmp_path: Path) -> None:
    """Whatever is not a pid of ours is not overwritten."""
    (tmp_path / lock.NAME).write_text("mine, not yours")
    with lock.acquire(state):
        pass
    assert (tmp_path / lock.NAME).read_text() == "mine, not yours"


def test_waiting_ends_when_the_server_is_to_stop(state: Folder) -> None:
    """A stop does not wait for another holder's lock, however long the timeout is."""
    with (
        lock.acquire(state),
        pytest.raises(StorageError, match="asked to stop"),
        lock.acquire(state, 600, lambda: True),
    ):
        raise AssertionError("two holders at once")


def test_failed_change_restores_the_lock_file(state: Folder) -> None:
    """The pid is removed at any release of the lock."""
    with pytest.raises(ValueError, match="mine"), lock.acquire(state):
        raise ValueError("mine")
    assert (Path(state.path) / lock.NAME).read_bytes() == b""


def test_a_folder_that_was_moved_away_is_not_written_to(tmp_path: Path) -> None:
    """The lock of a folder that is no longer at its path permits no write."""
    (tmp_path / "state").mkdir()
    folder = Folder.root(str(tmp_path / "state"))
    with lock.acquire(folder) as held:
        held.check()
        (tmp_path / "state").rename(tmp_path / "old")
        (tmp_path / "state").mkdir()
        with pytest.raises(StorageError, match="removed or replaced"):
            held.check()


def test_lock_file_without_a_stat_is_refused(state: Folder) -> None:
    """If the stat of the lock file fails, the lock is refused, and free again."""
    failing = OSError(errno.EIO, os.strerror(errno.EIO))
    for name in ("fstat", "stat"):
        with (
            patch.object(os, name, side_effect=failing),
            pytest.raises(StorageError, match="look at"),
            lock.acquire(state),
        ):
            raise AssertionError("held all the same")
    with lock.acquire(state) as held:
        with patch.object(os, "stat", side_effect=failing), pytest.raises(StorageError):
            held.check()
        held.check()


@pytest.mark.parametrize("data", [b"1234" + b" " * 60 + b"somebody's own", b"1234 notes", b"settled" + b"x" * 60])
def test_foreign_lock_file_gets_no_pid(state: Folder, data: bytes) -> None:
    """A foreign file is locked, and its content stays unchanged, however it begins."""
    path = Path(state.path) / lock.NAME
    path.write_bytes(data)
    with lock.acquire(state) as held:
        assert not held.orderly
    assert path.read_bytes() == data
