"""Short histories that count as long behave like long ones."""

from __future__ import annotations

import os
import random
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from nexus_mcp.store import atomic
from nexus_mcp.store.history import identity
from nexus_mcp.store.history import index as history_index
from tests.reliability import long
from tests.reliability.suites.powercut.files import known_as
from tests.reliability.suites.powercut.recording import Recording
from tests.store.crash_points import CALLS, meddling_at


def test_a_piece_says_whether_its_histories_are_long() -> None:
    """Only a piece with the field `long` treats its histories as long, and only while it runs."""
    for item, expected in (({"long": long.AS_IT_IS}, True), ({"kind": "x"}, False), (["list"], False)):
        with long.counted(item):
            assert long.is_on() is expected
    assert history_index.CACHE_FROM_BYTES > 0


def test_stopped_clock_gives_two_writes_the_same_times(tmp_path: Path) -> None:
    """With a stopped clock no file is settled, except one whose time was set explicitly."""
    path = tmp_path / "file"
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    with long.stopped():
        before = identity.of(path.stat())
        path.write_bytes(b"two")
        assert identity.of(path.stat()) == before
        assert not identity.is_settled(before)
        fd = os.open(path, os.O_RDWR)
        assert identity.set_apart(fd)
        apart = identity.of(os.fstat(fd))
        os.pwrite(fd, b"2", 0)
        assert identity.of(os.fstat(fd)) == before != apart
        os.close(fd)


def test_a_file_is_known_again_after_a_power_cut(tmp_path: Path) -> None:
    """The file has its old inode and times until a program writes to it."""
    path = tmp_path / "file"
    path.write_bytes(b"one")
    was = identity.of(path.stat())
    info = path.stat()
    path.unlink()
    (tmp_path / "other").write_bytes(b"in its place")
    path.write_bytes(b"one")
    os.utime(path, ns=(7, 7))
    with known_as(tmp_path, {"file": info}):
        assert identity.of(os.stat(path)) == was
        path.write_bytes(b"two")
        assert identity.of(os.stat(path)) != was


def test_kernel_copies_are_recorded(tmp_path: Path) -> None:
    """A copy is recorded completely, for any size of the parts that the kernel copies and any file position."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "old").write_bytes(bytes(range(100)))
    recording = Recording(root)
    real = getattr(os, "copy_file_range", None)

    def little(source: int, target: int, count: int, **offsets: int) -> int:
        assert real is not None
        copied: int = real(source, target, min(count, 7), **offsets)
        return copied

    with patch.object(os, "copy_file_range", little) if real else nullcontext(), recording.running(random.Random(1)):
        source, target = os.open(root / "old", os.O_RDONLY), os.open(root / "new", os.O_RDWR | os.O_CREAT)
        os.write(target, b"begins")
        atomic.copy_range(source, target, 50)
        os.write(target, b"ends")
        os.close(source)
        os.close(target)
    recording.check()
    assert (root / "new").read_bytes() == b"begins" + bytes(range(50)) + b"ends"


def test_other_program_writes_before_the_chosen_call(tmp_path: Path) -> None:
    """The write happens right before the chosen system call, whose name is passed to the writer."""
    path, told = tmp_path / "file", list[tuple[str, bool]]()
    path.write_bytes(b"")
    with meddling_at(2, lambda name: told.append((name, path.exists()))):
        os.close(os.open(path, os.O_RDONLY))
        os.unlink(path)
        os.mkdir(path)
    assert told == [("unlink", True)]
    assert {"pread", "utime"} <= set(CALLS)
