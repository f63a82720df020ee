"""Threads that wait for the workspace lock are reused, and their number is bounded."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import LockTimeout, StorageError
from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder
from tests.forked_commands import CHECKOUT


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """No thread is left of an earlier test, and none stays idle."""
    for thread in _threads():
        thread.join()
    with patch.object(lock, "IDLE", 0):
        yield


@pytest.fixture
def state(tmp_path: Path) -> Folder:
    folder = Folder.root(str(tmp_path))
    folder.shown = ".nexus/state"
    return folder


@pytest.mark.parametrize("what", ["os.fstat", "threading.Thread.start"])
def test_no_way_to_wait_is_an_error(state: Folder, what: str) -> None:
    """Without a thread, or the file's status, the call cannot wait: it fails, and nothing stays open."""
    error = OSError(errno.EIO, "Input/output error") if what == "os.fstat" else RuntimeError("can't start new thread")
    with lock.acquire(state):
        before = _open_files()
        with patch(what, side_effect=error), pytest.raises(StorageError, match="wait for"), lock.acquire(state):
            raise AssertionError("entered without the lock")
        assert _open_files() == before


def test_waits_in_vain_do_not_add_up(state: Folder) -> None:
    """However many waits time out, at most one thread and one descriptor stay for them."""
    before = _open_files()
    with lock.acquire(state):
        for _ in range(20):
            with pytest.raises(LockTimeout), lock.acquire(state, wait=0):
                raise AssertionError("two holders at once")
        (thread,) = _threads()
        assert _open_files() == before + 2  # with that of the holder
    thread.join()
    assert _open_files() == before
    with lock.acquire(state, wait=0):
        pass


def test_lock_of_an_abandoned_wait_goes_to_the_next_waiter(state: Folder) -> None:
    """A lock granted to an abandoned thread goes to the call that waits now."""
    queues, entered = threading.Event(), []

    real = lock.join_queue

    def queued(fd: int) -> lock.Waiter:
        found = real(fd)
        queues.set()
        return found

    def enter() -> None:
        with lock.acquire(state) as held:
            held.check()
            with pytest.raises(LockTimeout), lock.acquire(state, wait=0):
                raise AssertionError("two holders at once")
            entered.append(True)

    with lock.acquire(state):
        with pytest.raises(LockTimeout), lock.acquire(state, wait=0):
            raise AssertionError("two holders at once")
        (left,) = _threads()
        second = threading.Thread(target=enter)
        with patch.object(lock, "join_queue", queued):
            second.start()
            assert queues.wait(60)
        assert _threads() == [left]
    second.join()
    left.join()
    assert entered == [True]


def test_a_thread_is_used_again(state: Folder) -> None:
    """Where many write, the next wait needs no new one: it gets the lock as the first one did."""
    entered, real = [], lock.join_queue
    idle = _Idle()

    def enter() -> None:
        with lock.acquire(state):
            entered.append(True)

    with patch.object(lock, "IDLE", 60), patch.object(lock, "_idle", idle):
        for _ in range(3):
            queues = threading.Event()
            with (
                lock.acquire(state),
                patch.object(lock, "join_queue", lambda fd, queues=queues: (real(fd), queues.set())[0]),
            ):
                idle.came.clear()
                second = threading.Thread(target=enter)
                second.start()
                assert queues.wait(60)
            second.join()
            assert idle.came.wait(60)
        assert entered == [True] * 3
        (thread,), (line,) = _threads(), idle
        lock.IDLE = 0
        idle.pop()
        line.call(_Nothing(-1, (0, 0)))  # it has no time to wait for more
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_waits_with_threads_of_its_own(tmp_path: Path) -> None:
    """A fork has none of its parent's threads, neither idle nor abandoned ones, and keeps none of their locks."""
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORKS, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    assert subprocess.run(words, timeout=60, check=False, env=environment).returncode == 0


_FORKS = """
import os, sys, threading
from nexus_mcp.errors import LockTimeout
from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder

lock.IDLE = 60
state = Folder.root(sys.argv[1])

def in_vain():
    try:
        with lock.acquire(state, wait=0):
            raise AssertionError("two holders at once")
    except LockTimeout:
        return [thread for thread in threading.enumerate() if thread.name == lock.THREAD]

with lock.acquire(state):
    (left,) = in_vain()
    lock._idle.append(lock._WaitThread())  # as if one were idle: in a fork nobody hears it
    child = os.fork()
    if not child:
        os._exit(len(in_vain()) != 1 or bool(lock._idle))
    lock._idle.clear()
    forked = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
with lock.acquire(state):
    sys.exit(forked)
"""


class _Idle(list[lock._WaitThread]):
    def __init__(self) -> None:
        self.came = threading.Event()

    def append(self, line: lock._WaitThread) -> None:
        super().append(line)
        self.came.set()


class _Nothing(lock.Waiter):
    def queue(self) -> None:
        pass


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == lock.THREAD]


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))
