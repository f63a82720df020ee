"""The next archived cycle removes leftovers of dead writers in artifact folders, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.folder import Folder
from tests.store.oplog_support import PLAN, answered
from tests.support import SMALLEST

LEFT = f"{atomic.PREFIX}0123456789abcdef"


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "artifact_write", {"filename": "n/m/a.md", "content": "1"})
    folder = tmp_path / ".nexus/state/artifacts"
    for where in (folder, folder / "n", folder / "n/m"):
        (where / LEFT).write_bytes(b"half")
    return folder


@pytest.mark.parametrize("tool", ["task_close", "plan_start"])
def test_they_are_swept_with_a_cycle(artifacts: Path, tmp_path: Path, tool: str) -> None:
    """A change that archives a cycle sweeps every folder of artifacts."""
    answered(tmp_path, tool, SMALLEST[tool])
    assert [path.name for path in artifacts.rglob("*") if path.is_file()] == ["a.md"]


def test_links_are_not_followed(artifacts: Path, tmp_path: Path) -> None:
    """Behind a link nothing is touched; a folder that is called like a leftover stays."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / LEFT).write_bytes(b"theirs")
    (artifacts / "link").symlink_to(outside)
    (artifacts / f"{LEFT}0").mkdir()
    answered(tmp_path, "task_close")
    assert (outside / LEFT).read_bytes() == b"theirs"
    assert (artifacts / f"{LEFT}0").is_dir()
    assert not (artifacts / LEFT).exists()


def test_sweep_is_bounded(artifacts: Path, tmp_path: Path) -> None:
    """The sweep ends after a number of folders and at a depth, and the change is made."""
    with patch.object(conflicts, "MOST_SWEPT_FOLDERS", 2):
        answered(tmp_path, "task_close")
    assert sorted(path.parent.name for path in artifacts.rglob(LEFT)) == ["m"]
    (artifacts / "n" / LEFT).write_bytes(b"half")
    with patch.object(conflicts, "DEPTH", 2):
        answered(tmp_path, "task_close")
    assert sorted(path.parent.name for path in artifacts.rglob(LEFT)) == ["m"]


def test_failing_sweep_does_not_fail_the_change(artifacts: Path, tmp_path: Path) -> None:
    """A leftover that cannot be removed, or a folder that cannot be listed, does not fail a change."""
    real = conflicts.sweep

    def sweep(folder: object) -> None:
        if "artifacts" in str(getattr(folder, "shown", "")):
            raise StorageError("x", "remove the leftover", os.strerror(13))
        real(folder)  # type: ignore[arg-type]

    with patch.object(conflicts, "sweep", sweep):
        answered(tmp_path, "task_close")
    assert (artifacts / LEFT).exists()


def test_removal_is_checked_like_a_replacement(tmp_path: Path) -> None:
    """The checks before a replacement are also made before a removal."""
    (tmp_path / "a").write_bytes(b"kept")

    def lost() -> None:
        raise StorageError("lock", "keep", "it was removed")

    with Folder.root(str(tmp_path)) as folder, pytest.raises(StorageError, match="keep"):
        atomic.put(folder, "a", None, lost)
    assert (tmp_path / "a").read_bytes() == b"kept"


def test_a_save_gets_one_copy(tmp_path: Path) -> None:
    """A save that is a copy already, because its temporary name could not be removed, gets no second copy."""
    place = tmp_path / "place"
    place.mkdir()
    saved = conflicts.temporary("a.json", (3, 0), conflicts.WHOLE, None)
    (place / saved).write_bytes(b"saved")
    with Folder.root(str(place)) as folder:
        copy = conflicts.keep(folder, saved, "a.json")
        os.link(place / copy, place / saved)
        conflicts.sweep(folder)
    assert [path.name for path in place.iterdir()] == [copy]


@pytest.mark.parametrize("theirs", ["theirs", "conflict-of-interest.md"])
def test_a_link_of_a_user_is_no_copy(tmp_path: Path, theirs: str) -> None:
    """A save with a second name that is not that of a copy is kept as a copy."""
    place = tmp_path / "place"
    place.mkdir()
    saved = conflicts.temporary("a.json", (3, 0), conflicts.WHOLE, None)
    (place / saved).write_bytes(b"saved")
    (place / theirs).hardlink_to(place / saved)
    with Folder.root(str(place)) as folder:
        conflicts.sweep(folder)
    copies = [path.name for path in place.iterdir() if path.name != theirs]
    assert len(copies) == 1
    assert copies[0].startswith(conflicts.PREFIX)


@pytest.mark.parametrize("error", [IsADirectoryError, PermissionError])
def test_a_folder_with_a_temporary_name_stays(tmp_path: Path, error: type[OSError]) -> None:
    """It is not ours, whichever error the system gives for its removal. A file that cannot be removed is an error."""
    (tmp_path / LEFT).mkdir()
    with Folder.root(str(tmp_path)) as folder, patch.object(Folder, "unlink", side_effect=error):
        conflicts.sweep(folder)
        assert (tmp_path / LEFT).is_dir()
        (tmp_path / f"{atomic.PREFIX}file").touch()
        with pytest.raises(StorageError):
            conflicts.sweep(folder)
