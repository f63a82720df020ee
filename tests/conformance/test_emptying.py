"""Deleting a tree removes all of it, and nothing that its links or mounts lead to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nexus_mcp.conformance.trial.emptying import empty_folder, remove_at
from tests.conformance.servers.misbehaving import deep


@pytest.fixture
def doomed(tmp_path: Path) -> Path:
    """A folder with all that is hard to delete, and beside it one that its links lead to."""
    return _made(tmp_path, levels=3000)


def _made(tmp_path: Path, levels: int) -> Path:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    made = tmp_path / "doomed"
    (made / "closed" / "below").mkdir(parents=True)
    (made / "closed" / "below" / "file").write_text("lost")
    for name in ("one", "two", "three"):
        (made / "several" / name).mkdir(parents=True)
    (made / "link").symlink_to(kept)
    (made / "several" / "one" / "link").symlink_to(kept)
    os.mkfifo(made / "pipe")
    (made / "closed").chmod(0)
    deep(str(made / "deep"), levels)
    return made


def test_empty_deletes_entries_but_not_link_targets(doomed: Path) -> None:
    """A folder of any content and depth is emptied; the targets of its links stay."""
    fd = os.open(doomed, os.O_RDONLY)
    empty_folder(fd)
    os.close(fd)
    assert list(doomed.iterdir()) == []
    assert (doomed.parent / "kept" / "file").read_text() == "kept"


@pytest.mark.parametrize("name", ["doomed", "link", "file", "pipe", "nothing"])
def test_remove_deletes_a_link_itself(tmp_path: Path, name: str) -> None:
    """An entry of any kind is removed; of a link only the link itself."""
    folder = _made(tmp_path, levels=3000 if name == "doomed" else 3).parent
    (folder / "link").symlink_to("kept")
    (folder / "file").write_text("")
    os.mkfifo(folder / "pipe")
    names = {"doomed", "link", "file", "pipe", "kept"}
    fd = os.open(folder, os.O_RDONLY)
    remove_at(fd, name)
    assert names - set(os.listdir(folder)) == names & {name}
    remove_at(fd, "doomed")
    os.close(fd)
    assert (folder / "kept" / "file").read_text() == "kept"
