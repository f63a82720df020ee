"""A repair after a merge by lines restores cycles that git dropped outside of the markers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.merging import repository
from nexus_mcp.merging.conflict import split
from nexus_mcp.merging.diagnosis import Conflict, Hopeless
from nexus_mcp.merging.driver import DRIVER_KEY
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
    """Make a conflict as in a clone without the driver, or with another command for it."""
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
def test_repair_restores_cycles_that_git_merged_away(repo: Repo, ours: list[Cycle]) -> None:
    """A repair has the old cycles of either side, even if git took the other side outside its markers."""
    conflict(repo, OURS(ours))
    assert split(repo.history.read_bytes()) != (OURS(ours), THEIRS)
    found = mended(repo)
    assert counted(cycles_of(repo.history.read_bytes())) == counted(ours) | counted(cycles_of(THEIRS))
    assert (found.ours, found.theirs, found.others) == (len(ours), 4, 0)


def test_edits_by_hand_survive_a_repair(repo: Repo) -> None:
    """Cycles that a user wrote into the file before the repair stay, beside those of both sides."""
    ours = SIDES["edited"]
    conflict(repo, OURS(ours))
    by_hand = repo.history.read_bytes().replace(b'"edited"', b'"by hand"').replace(b"{", b'{"note": 1,', 1)
    repo.history.write_bytes(by_hand)
    assert mended(repo).others == 1
    after = repo.history.read_bytes()
    both = counted(ours) | counted(cycles_of(THEIRS)) | counted([numbered(1, branch="by hand")])
    assert counted(cycles_of(after)) == both
    assert after.startswith(b'{"note": 1,')


def test_unreadable_side_stops_a_repair(repo: Repo) -> None:
    """If a side in git is no history, the repair refuses, even if both sides in the file are readable."""
    end = b"  ]\n}\n"
    conflict(repo, OURS(SIDES["edited"]), THEIRS.removesuffix(end))
    by_hand = repo.history.read_bytes() + end
    assert [titles(side) for side in split(by_hand)] == [[1, 2, 5, 6], [1, 2, 5, 7]]
    repo.history.write_bytes(by_hand)
    found = repair(str(repo.project)).diagnosis
    assert isinstance(found, Hopeless)
    assert found.reason.startswith("their side in git (line 67, column 1) is not JSON")
    assert repo.history.read_bytes() == by_hand


def test_missing_side_stops_a_repair(repo: Repo) -> None:
    """If git does not return a side that it lists, the conflict has to be resolved by hand."""
    conflict(repo, OURS(SIDES["edited"]))
    name = repo.git("rev-parse", f":3:a b/{HISTORY}").out.strip()
    (repo.path / ".git/objects" / name[:2] / name[2:]).unlink()
    found = examine(str(repo.project)).diagnosis
    assert isinstance(found, Hopeless)
    assert found.reason.startswith("git does not report what one side holds (")


def test_repair_without_sides_in_git_uses_the_file(repo: Repo) -> None:
    """After git add of a file with markers, the cycles in the file are kept, with a message."""
    conflict(repo, OURS(SIDES["edited"]))
    repo.git("add", "-A")
    assert mended(repo).others is None
    assert titles(repo.history.read_bytes()) == [1, 2, 5, 6, 7]


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        ("a program", "git cannot be run: "),
        ("time", "git did not answer in 0 seconds"),
        ("an owner", "fatal: detected dubious ownership in repository at "),
        ("a configuration", "fatal: bad config line "),
    ],
)
def test_repair_is_refused_while_git_does_not_answer(
    repo: Repo, lacking: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a repository whose git does not answer, the file alone is not taken as complete."""
    conflict(repo, OURS(SIDES["edited"]))
    if lacking == "a program":
        monkeypatch.setenv("PATH", str(repo.path))
    elif lacking == "time":
        monkeypatch.setattr(repository, "SECONDS", 0)
    elif lacking == "an owner":
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    else:
        with (repo.path / ".git/config").open("a") as config:
            config.write("[broken\n")
    before = repo.history.read_bytes()
    for data in (before, THEIRS):
        repo.history.write_bytes(data)
        found = repair(str(repo.project)).diagnosis
        assert isinstance(found, Hopeless)
        assert found.reason.startswith(f"git does not report whether the file has a conflict ({told}")
        assert found.next_step.startswith("Run git status")
        assert repo.history.read_bytes() == data


def test_nexus_with_its_own_repository_is_repaired_from_that_repository(tmp_path: Path) -> None:
    """If `.nexus` is a repository inside another one, the inner repository has the sides."""
    outer, inner = Repo(tmp_path / "outer"), Repo(tmp_path / "outer/.nexus")
    inner.path.mkdir(parents=True)
    inner.history = outer.path / HISTORY
    outer.git("init", "-q")
    inner.git("init", "-q", "-b", "main")
    inner.git("config", DRIVER_KEY, "false")  # to be taken out
    rewritten(inner, OURS(PAST))
    conflict(inner, OURS(SIDES["edited"]))
    assert repair(str(outer.path)).backup
    after = counted(cycles_of(inner.history.read_bytes()))
    assert after == counted(SIDES["edited"]) | counted(cycles_of(THEIRS))


@pytest.mark.parametrize("style", ["merge", "zdiff3"])
def test_repair_keeps_a_cycle_once_that_git_doubled(repo: Repo, style: str) -> None:
    """A cycle that both sides have, at different places, is kept once, although git's merge of lines has it twice."""
    past = [numbered(1), numbered(5)]
    rewritten(repo, OURS(past))
    repo.git("config", "merge.conflictStyle", style)
    theirs = OURS([numbered(1), numbered(3), numbered(5), numbered(7)])
    conflict(repo, OURS([*past, numbered(3), numbered(6)]), theirs)
    assert [titles(side).count(3) for side in split(repo.history.read_bytes())] == [2, 1]
    assert mended(repo).others == 0
    assert titles(repo.history.read_bytes()) == [1, 3, 5, 6, 7]


def test_missing_driver_program_leaves_both_sides(repo: Repo) -> None:
    """Where the program cannot be started, the conflict that is put in has both sides whole, too."""
    real = Repository.around(str(repo.path)).config(DRIVER_KEY)[0]
    ours = OURS(SIDES["edited"])
    conflict(repo, ours, driver=f"/nowhere/nexus-mcp ||{real.partition('||')[2]}")
    assert split(repo.history.read_bytes()) == (ours, THEIRS)
