"""The driver merges three files: it replaces ours, marks the conflict as git does, or leaves ours unchanged."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.errors import StorageError, UsageError
from nexus_mcp.merging.conflict import split
from nexus_mcp.merging.diagnosis import Conflict, diagnose
from nexus_mcp.merging.driver import drive
from tests.merging.support import OURS, Cycle, counted, cycles_of, numbered, titles
from tests.store.crash_points import failing_at

PAST = [numbered(1), numbered(2)]
BASE, LEFT, RIGHT = OURS(PAST), OURS([*PAST, numbered(3)]), OURS([*PAST, numbered(4)])
EDITED = OURS([numbered(1, branch="edited"), numbered(2), numbered(4)])


def files(folder: Path, *contents: bytes) -> tuple[str, str, str]:
    base, ours, theirs = (str(folder / "three" / name) for name in ("base", "ours", "theirs"))
    (folder / "three").mkdir(exist_ok=True)
    for path, content in zip((base, ours, theirs), contents, strict=True):
        Path(path).write_bytes(content)
    return base, ours, theirs


def test_merge_keeps_permissions_of_our_file(tmp_path: Path) -> None:
    """The result is in the place of our side, with its permissions; an empty base is none; nothing else is left."""
    paths = files(tmp_path, BASE, LEFT, RIGHT)
    os.chmod(paths[1], 0o750)
    assert drive(*paths) == ""
    assert Path(paths[1]).read_bytes() == OURS([*PAST, numbered(3), numbered(4)])
    assert os.stat(paths[1]).st_mode & 0o777 == 0o750
    assert drive(*files(tmp_path, b"", LEFT, RIGHT)) == ""
    assert Path(paths[1]).read_bytes() == OURS([*PAST, numbered(3), numbered(4)])
    assert sorted(os.listdir(tmp_path / "three")) == ["base", "ours", "theirs"]


def test_side_with_all_cycles_is_not_touched(tmp_path: Path) -> None:
    """A file that has all cycles already is not touched."""
    paths = files(tmp_path, BASE, LEFT, BASE)
    before = os.stat(paths[1]).st_ino
    assert drive(*paths) == ""
    assert (os.stat(paths[1]).st_ino, Path(paths[1]).read_bytes()) == (before, LEFT)


@pytest.mark.parametrize("size", [4, 7, 11])
def test_a_conflict_has_both_sides(tmp_path: Path, size: int) -> None:
    """Where lines of one side would merge, too, both sides can be had again; no marker is shorter than usual."""
    paths = files(tmp_path, BASE, LEFT, EDITED)
    assert "their side lacks" in drive(*paths, size)
    marked = Path(paths[1]).read_bytes()
    assert b"\n" + b"<" * max(size, 7) + b" ours\n" in marked
    assert split(marked) == (LEFT, EDITED)


def changed(chance: random.Random, past: list[Cycle], new: int) -> list[Cycle]:
    """Return a side that has removed or changed at most one old cycle, and closed one or two."""
    side = [*past]
    at = chance.randrange(-len(side), len(side))
    if at >= 0:
        side[at : at + 1] = chance.choice(([], [{**side[at], "branch": chance.choice(["x", "y"])}]))
    return [*side, *(numbered(new + number) for number in range(chance.randrange(1, 3)))]


def test_repair_of_any_conflict_has_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any changes of old cycles, a repair of the conflict has exactly the cycles of both sides."""
    monkeypatch.setenv(f"GITHEAD_{'0' * 40}", "topic")
    chance, conflicts = random.Random(1), 0
    for _ in range(30):
        past = [numbered(number) for number in range(1, chance.randrange(2, 5))]
        ours, theirs = changed(chance, past, 10), changed(chance, past, 20)
        paths = files(tmp_path, OURS(past), OURS(ours), OURS(theirs))
        if drive(*paths):
            found = diagnose(Path(paths[1]).read_bytes())
            assert isinstance(found, Conflict)
            assert counted(cycles_of(found.data)) == counted(ours) | counted(theirs)
            conflicts += 1
    assert conflicts > 10


def test_empty_side_conflicts_with_markers(tmp_path: Path) -> None:
    """An empty file as one side is a conflict with markers, too."""
    for ours, theirs in ((b"", RIGHT), (LEFT, b"")):
        paths = files(tmp_path, BASE, ours, theirs)
        assert "is empty" in drive(*paths)
        assert split(Path(paths[1]).read_bytes()) == (ours, theirs)


@pytest.mark.parametrize("size", ["1000", "5000", "9" * 5000])
def test_markers_have_an_end(tmp_path: Path, size: str) -> None:
    """For any marker size that git requests, the histories are merged, or marked with shorter markers."""
    base, ours, theirs = files(tmp_path, BASE, LEFT, RIGHT)
    assert main(["history", "merge", f"--marker-size={size}", base, ours, theirs]) == 0
    assert titles(Path(ours).read_bytes()) == [1, 2, 3, 4]
    files(tmp_path, BASE, LEFT, EDITED)
    assert main(["history", "merge", f"--marker-size={size}", base, ours, theirs]) == 1
    assert split(Path(ours).read_bytes()) == (LEFT, EDITED)


def test_a_merge_of_lines_is_no_result(tmp_path: Path) -> None:
    """Where lines merge although cycles do not, all that differs between the sides is marked."""
    edited = BASE.replace(b"Work 1", b"Edited")
    paths = files(tmp_path, BASE, LEFT, edited)
    assert "their side lacks or has changed a cycle" in drive(*paths)
    marked = Path(paths[1]).read_bytes()
    assert (marked.count(b"<<<<<<< ours\n"), marked.count(b">>>>>>> theirs\n")) == (2, 2)
    assert b"Edited" in marked
    assert b"Work 1" in marked
    assert b"Work 3" in marked


@pytest.mark.parametrize("missing", [True, False])
def test_unmarkable_file_keeps_our_side(tmp_path: Path, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """For files with NUL bytes, and without git, no markers are written: our side stays unchanged."""
    nul = LEFT[:-9] + b"\0"
    paths = files(tmp_path, BASE, LEFT, EDITED if missing else nul)
    if missing:
        monkeypatch.setenv("PATH", str(tmp_path))
    assert drive(*paths)
    assert Path(paths[1]).read_bytes() == LEFT


def test_only_a_merge_knows_that_ours_descends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a merge a cycle that our side lacks was removed; in a cherry-pick our side may never have had it."""
    paths = files(tmp_path, BASE, OURS([numbered(1)]), RIGHT)
    assert drive(*paths) == ""
    assert Path(paths[1]).read_bytes() == OURS([numbered(1), numbered(4)])
    monkeypatch.setenv(f"GITHEAD_{'0' * 40}", "topic")
    assert "our side lacks or has changed a cycle" in drive(*files(tmp_path, BASE, OURS([numbered(1)]), RIGHT))


@pytest.mark.parametrize("index", [0, 1, 2])
def test_missing_file_is_a_usage_error(tmp_path: Path, index: int) -> None:
    """A file that cannot be read is a fault of the command line, and nothing is changed."""
    base, ours, theirs = (
        f"{path}{'x' * (number == index)}" for number, path in enumerate(files(tmp_path, BASE, LEFT, RIGHT))
    )
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        drive(base, ours, theirs)
    assert (tmp_path / "three/ours").read_bytes() == LEFT


def test_full_disk_leaves_our_side_whole(tmp_path: Path) -> None:
    """When the result cannot be written our side stays whole."""
    paths = files(tmp_path, BASE, LEFT, RIGHT)
    merged = OURS([*PAST, numbered(3), numbered(4)])
    for step in range(1, 50):
        (tmp_path / "three/ours").write_bytes(LEFT)
        with failing_at(step, 28) as calls:
            failed = False
            try:
                drive(*paths)
            except (StorageError, UsageError):
                failed = True
        assert (tmp_path / "three/ours").read_bytes() in ((LEFT,) if failed else (merged,))
        if len(calls.names) < step:
            break
    assert step > 5
    assert sorted(os.listdir(tmp_path / "three")) == ["base", "ours", "theirs"]


def test_link_in_place_of_our_file_stays(tmp_path: Path) -> None:
    """A link in the place of our side leads to the file that is replaced; the link stays."""
    base, _, theirs = files(tmp_path, BASE, LEFT, RIGHT)
    link = tmp_path / "link"
    link.symlink_to("three/ours")
    assert drive(base, str(link), theirs) == ""
    assert link.is_symlink()
    assert (tmp_path / "three/ours").read_bytes() == OURS([*PAST, numbered(3), numbered(4)])
