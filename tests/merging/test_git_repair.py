"""A repair of a conflict that git made of lines: outside its markers a side may have lost what git still keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.merging import repository
from nexus_mcp.merging.diagnosis import Conflict, Hopeless
from nexus_mcp.merging.markers import split
from nexus_mcp.merging.registration import DRIVER_KEY
from nexus_mcp.merging.repair import examine, repair
from nexus_mcp.merging.repository import Repository
from tests.merging.repo import HISTORY, Repo
from tests.merging.support import OURS, Cycle, counted, cycles_of, numbered, titles

PAST = [numbered(1), numbered(2), numbered(5)]
THEIRS = OURS([*PAST, numbered(7)])
SIDES = {
    "edited": [numbered(1, branch="edited"), *PAST[1:], numbered(6)],
    "removed": [*PAST[1:], numbered(6)],
    "removed in the middle": [numbered(1), numbered(5), numbered(6)],
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo.made(tmp_path / "repo", "a b/")
    rewritten(repo, OURS(PAST))
    return repo


def rewritten(repo: Repo, data: bytes) -> None:
    repo.history.write_bytes(data)
    repo.commit("Rewritten")


def conflict(repo: Repo, ours: bytes, theirs: bytes = THEIRS, *, driver: str = "") -> None:
    """A conflict as it is in a clone without the driver, or with another command for it."""
    if driver:
        repo.git("config", DRIVER_KEY, driver)
    else:
        repo.git("config", "--remove-section", "merge.nexus-history")
    repo.git("checkout", "-q", "-b", "theirs")
    rewritten(repo, theirs)
    repo.git("checkout", "-q", "main")
    rewritten(repo, ours)
    repo.git("merge", "--no-edit", "theirs", code=1)


def mended(repo: Repo) -> Conflict:
    found = repair(str(repo.project))
    assert isinstance(found.diagnosis, Conflict)
    assert found.backup
    return found.diagnosis


@pytest.mark.parametrize("ours", SIDES.values(), ids=SIDES)
def test_what_git_merged_by_lines(repo: Repo, ours: list[Cycle]) -> None:
    """Old cycles that one side has are there after a repair, though git let the other side win outside its markers."""
    conflict(repo, OURS(ours))
    assert split(repo.history.read_bytes()) != (OURS(ours), THEIRS)
    found = mended(repo)
    assert counted(cycles_of(repo.history.read_bytes())) == counted(ours) | counted(cycles_of(THEIRS))
    assert (found.ours, found.theirs, found.others) == (len(ours), 4, 0)


def test_what_was_resolved_by_hand(repo: Repo) -> None:
    """What somebody has written into the file before it is repaired stays, beside the cycles of both sides."""
    ours = SIDES["edited"]
    conflict(repo, OURS(ours))
    by_hand = repo.history.read_bytes().replace(b'"edited"', b'"by hand"').replace(b"{", b'{"note": 1,', 1)
    repo.history.write_bytes(by_hand)
    assert mended(repo).others == 1
    after = repo.history.read_bytes()
    both = counted(ours) | counted(cycles_of(THEIRS)) | counted([numbered(1, branch="by hand")])
    assert counted(cycles_of(after)) == both
    assert after.startswith(b'{"note": 1,')


def test_a_side_that_cannot_be_read(repo: Repo) -> None:
    """When a side in git is no history nothing is guessed, though somebody made both sides in the file readable."""
    end = b"  ]\n}\n"
    conflict(repo, OURS(SIDES["edited"]), THEIRS.removesuffix(end))
    by_hand = repo.history.read_bytes() + end
    assert [titles(side) for side in split(by_hand)] == [[1, 2, 5, 6], [1, 2, 5, 7]]
    repo.history.write_bytes(by_hand)
    found = repair(str(repo.project)).diagnosis
    assert isinstance(found, Hopeless)
    assert found.reason.startswith("their side in git (line 67, column 1) is not JSON")
    assert repo.history.read_bytes() == by_hand


def test_a_side_that_is_gone(repo: Repo) -> None:
    """When git does not give a side that it lists, the conflict is left to be mended by hand."""
    conflict(repo, OURS(SIDES["edited"]))
    name = repo.git("rev-parse", f":3:a b/{HISTORY}").out.strip()
    (repo.path / ".git/objects" / name[:2] / name[2:]).unlink()
    found = examine(str(repo.project)).diagnosis
    assert isinstance(found, Hopeless)
    assert found.reason.startswith("a side of it cannot be had from git (")


@pytest.mark.parametrize("lacking", ["git", "conflict", "an answer"])
def test_where_git_has_no_sides(repo: Repo, lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git, or after the file was added with its markers, what is in the file is kept, and that is told."""
    conflict(repo, OURS(SIDES["edited"]))
    if lacking == "git":
        monkeypatch.setenv("PATH", str(repo.path))
    elif lacking == "an answer":
        monkeypatch.setattr(repository, "SECONDS", 0)
    else:
        repo.git("add", "-A")
    assert mended(repo).others is None
    assert titles(repo.history.read_bytes()) == [1, 2, 5, 6, 7]


def test_a_driver_that_is_gone(repo: Repo) -> None:
    """Where the program cannot be started, the conflict that is put in has both sides whole, too."""
    real = Repository.around(str(repo.path)).config(DRIVER_KEY)[0]
    ours = OURS(SIDES["edited"])
    conflict(repo, ours, driver=f"/nowhere/nexus-mcp ||{real.partition('||')[2]}")
    assert split(repo.history.read_bytes()) == (ours, THEIRS)
