"""The temporary folder of a board, and what of older ones is removed."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from typing import TYPE_CHECKING

import pytest

from nexus_mcp.board.cache_folder import LOCK, PREFIX, cache_folder, remove_left_folders

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made."""
    base = tmp_path / "tmp"
    base.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(base))
    return base


def _left(base: Path, name: str = "old") -> Path:
    """Make the folder of a killed board."""
    folder = base / f"{PREFIX}{name}"
    folder.mkdir(mode=0o700)
    (folder / LOCK).touch(mode=0o600)
    (folder / "cache" / "x").mkdir(parents=True)
    (folder / "cache" / "x" / "index").write_text("derived")
    return folder


def test_a_folder_is_private_and_goes_at_the_end(temporary: Path) -> None:
    """The folder is new, empty and the user's alone; nothing of it is left, also after an exception."""
    with cache_folder() as folder:
        assert os.listdir(folder) == []
        assert os.stat(os.path.dirname(folder)).st_mode & 0o777 == 0o700
    with pytest.raises(KeyError), cache_folder():
        raise KeyError
    assert list(temporary.iterdir()) == []


def test_only_folders_without_a_board_are_removed(temporary: Path) -> None:
    """The folder of a board that runs stays, that of one which was killed goes."""
    _left(temporary)
    with cache_folder() as folder:
        remove_left_folders()
        assert [str(path) for path in temporary.iterdir()] == [os.path.dirname(folder)]


def test_a_file_system_without_locks_is_no_obstacle(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where flock fails, the board has its folder, and no folder of another one is removed."""

    def refuse(held: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    old = _left(temporary)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with cache_folder() as folder:
        assert os.path.isdir(folder)
    assert list(temporary.iterdir()) == [old]


def test_links_and_foreign_folders_stay(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link, a file, a folder that others may write, one without the lock, one whose lock is a link: all stay."""
    target = _left(tmp_path)
    (temporary / f"{PREFIX}link").symlink_to(target)
    (temporary / f"{PREFIX}file").touch()
    _left(temporary, "open").chmod(0o770)
    (temporary / f"{PREFIX}plain").mkdir(mode=0o700)
    linked = _left(temporary, "linked")
    (linked / LOCK).unlink()
    (linked / LOCK).symlink_to(target / LOCK)
    fifo = _left(temporary, "fifo")
    (fifo / LOCK).unlink()
    os.mkfifo(fifo / LOCK)
    _left(temporary, "x").rename(temporary / "other-prefix")
    before = sorted(temporary.iterdir())
    remove_left_folders()
    assert sorted(temporary.iterdir()) == before
    assert (target / "cache/x/index").exists()
    own = _left(temporary, "own")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    remove_left_folders()
    assert own.exists()
