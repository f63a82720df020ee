"""The lock, its holder, and file systems without locks."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nexus_mcp.doctor import lock_watch
from nexus_mcp.doctor.checks.lock import holder
from nexus_mcp.doctor.examine import examine
from nexus_mcp.store.lock import acquire
from tests.doctor.support import answered, codes, look, only, opened
from tests.support import Project

NO_PROCESS = 99_999_999  # above what any kernel gives


@contextmanager
def taken(project: Project, text: bytes) -> Iterator[None]:
    """The lock is held, with this text in it."""
    project.put("state/lock", text)
    fd = os.open(project.state / "lock", os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"%-10d\n", "process {} ("),
        (f"{NO_PROCESS}\n".encode(), f"process {NO_PROCESS}, which is not visible"),
        (b"", "a process that did not record its pid"),
        (b"-5", "a process that did not record its pid"),
        (b"\xff\x00 what is this", "a process that did not record its pid"),
        (b"9" * 31, f"process {'9' * 31}"),
    ],
)
def test_the_holder_is_named(made: Project, text: bytes, told: str) -> None:
    """A lock that is held all the time is reported with its holder, and whether the holder lives."""
    own = os.getpid()
    with taken(made, text % own if b"%" in text else text):
        finding = only(made.root)
    assert (finding.code, finding.file) == ("lock-held", ".nexus/state/lock")
    assert f"was held during the whole check by {told.format(own)}" in finding.problem
    assert codes(made.root) == []


def test_living_holder_is_reported_with_its_state() -> None:
    """The report has the name and the state of a living holder."""
    assert holder(os.getpid()).startswith(f"process {os.getpid()} (")
    assert holder(os.getpid()).endswith("running)")


def test_a_moment_without_a_holder_is_waited_for(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that becomes free within the waiting time is no finding."""
    made.put("state/.nexus-tmp-1", "")
    with opened(made.root, ".nexus", "state") as state:
        writer = acquire(state)
        writer.__enter__()
        monkeypatch.setattr("nexus_mcp.doctor.lock_watch.time.sleep", lambda _: writer.__exit__(None, None, None))
        assert [finding.code for finding in examine(str(made.root), 5.0).findings] == ["leftover"]


def test_patience_covers_the_whole_run(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several passes together wait as long as one."""
    naps: list[float] = []

    def nap() -> float:
        naps.append(0.5)
        return 0.5

    monkeypatch.setattr(lock_watch, "_nap", nap)
    watch = lock_watch.LockWatch(patience=1.0)
    with taken(made, b""), opened(made.root, ".nexus") as nexus:
        for _ in range(3):
            with watch.quiet(nexus) as quiet:
                assert not quiet
    assert naps == [0.5, 0.5]


def test_lock_file_replaced_during_the_check_counts(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the lock file is replaced during the check, the new file counts."""
    made.put("state/lock", "")
    real = lock_watch._lock_shared
    others: list[int] = []

    def exchanged(fd: int) -> None:
        real(fd)
        (made.state / "lock").unlink()
        others.append(os.open(made.state / "lock", os.O_RDWR | os.O_CREAT))
        fcntl.flock(others[0], fcntl.LOCK_EX)
        monkeypatch.setattr(lock_watch, "_lock_shared", real)

    monkeypatch.setattr(lock_watch, "_lock_shared", exchanged)
    watch = lock_watch.LockWatch(patience=0.001)
    with opened(made.root, ".nexus") as nexus, watch.quiet(nexus) as quiet:
        assert (quiet, watch.is_stuck) == (False, True)
    os.close(others[0])


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_unsupported_locks_are_reported_once(made: Project, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A file system without locks is reported once; leftovers are still judged, because no process can write."""
    made.put("state/lock", "")
    made.put("state/.nexus-tmp-1", "")

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    found = look(made.root).findings
    assert [finding.code for finding in found] == ["lock-unusable", "leftover"]
    assert os.strerror(code) in found[0].problem


def test_doctor_blocks_no_writer(made: Project) -> None:
    """Two that look see each other not, and after a look the lock is free."""
    made.put("state/lock", "")
    fd = os.open(made.state / "lock", os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert codes(made.root) == []
    finally:
        os.close(fd)
    answered(made.root, "task_add", title="t", context="c")
