"""An undecidable merge stays a normal git conflict with both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.merging.diagnosis import Hopeless, diagnose
from nexus_mcp.merging.driver import DRIVER_KEY, unregister
from nexus_mcp.merging.repair import repair
from nexus_mcp.merging.repository import Repository
from tests.merging.repo import HISTORY, Repo
from tests.merging.support import OURS, Cycle, numbered


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo.made(tmp_path / "repo")


def unmerged(repo: Repo) -> bool:
    return repo.git("status", "--porcelain", HISTORY).out[:2] in ("UU", "AA")


def rewritten(repo: Repo, name: str, cycles: list[Cycle] | bytes) -> None:
    """A branch from the current commit on which the history became something else."""
    repo.git("checkout", "-q", "-b", name)
    repo.history.write_bytes(cycles if isinstance(cycles, bytes) else OURS(cycles))
    repo.commit(name)


CHANGES: dict[str, list[Cycle] | bytes] = {
    "edited": [numbered(1), numbered(2, branch="edited"), numbered(3)],
    "removed": [numbered(1), numbered(3)],
    "emptied": [],
    "cut off": OURS([numbered(1), numbered(2), numbered(3)])[:-40],
    "newer": OURS([numbered(1), numbered(2), numbered(3)], schema_version="3.0"),
    "with NULs": OURS([numbered(1), numbered(2), numbered(3)])[:-40] + b"\0\0",
}


@pytest.mark.parametrize("into", ["ours", "theirs"])
@pytest.mark.parametrize("change", CHANGES)
def test_branch_with_a_changed_past_conflicts(repo: Repo, change: str, into: str) -> None:
    """A branch on which old cycles were changed or lost makes a conflict, from which the merge can be taken back."""
    repo.close(2, 3)
    repo.git("branch", "topic")
    rewritten(repo, "rewritten", CHANGES[change])
    repo.git("checkout", "-q", "topic")
    repo.close(4)
    ours, theirs = ("rewritten", "topic") if into == "ours" else ("topic", "rewritten")
    repo.git("checkout", "-q", ours)
    before = repo.history.read_bytes()
    ran = repo.git("merge", "--no-edit", theirs, code=1)
    assert f"CONFLICT (content): Merge conflict in {HISTORY}" in ran.out
    assert "nexus-mcp: The histories are not merged, because " in ran.out
    assert unmerged(repo)
    # Of a file with NUL bytes git makes no conflict markers, by itself neither.
    assert (b"<<<<<<< ours" in repo.history.read_bytes()) is (change != "with NULs")
    repo.git("merge", "--abort")
    assert (repo.history.read_bytes(), repo.clean()) == (before, True)


def test_revert_of_a_close_is_a_conflict(repo: Repo) -> None:
    """Taking back the commit that closed a cycle is a conflict: a history only grows."""
    repo.close(2, 3)
    assert "their side lacks or has changed a cycle" in repo.git("revert", "--no-edit", "HEAD~1", code=1).out
    assert unmerged(repo)
    repo.git("revert", "--abort")
    assert repo.numbers() == [1, 2, 3]


def test_branch_without_the_file_conflicts(repo: Repo) -> None:
    """A branch that removed the file makes a conflict of git's own, in which the cycles are still there."""
    repo.branch("topic", "main", 2)
    repo.git("checkout", "-q", "main")
    repo.git("rm", "-q", HISTORY)
    repo.git("commit", "-q", "-m", "Removed")
    assert "CONFLICT (modify/delete)" in repo.git("merge", "--no-edit", "topic", code=1).out
    assert repo.numbers() == [1, 2]


def two(repo: Repo) -> bytes:
    """Make the branches one and two, with the second checked out; return the driver's results."""
    repo.branch("one", "main", 2)
    repo.branch("two", "main", 3)
    return OURS([numbered(1), numbered(2), numbered(3)])


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_clone_without_the_driver_can_be_repaired(repo: Repo, style: str) -> None:
    """Without the configuration git leaves its usual conflict, in any style, and a repair makes the same file of it."""
    merged = two(repo)
    repo.git("config", "merge.conflictStyle", style)
    repo.git("config", "--remove-section", "merge.nexus-history")
    repo.git("merge", "--no-edit", "one", code=1)
    assert unmerged(repo)
    assert repair(str(repo.path)).backup
    assert repo.history.read_bytes() == merged


@pytest.mark.parametrize(("program", "size"), [("/nowhere/nexus-mcp", 7), ("kill -9 $$", 7), ("false", 12)])
def test_missing_or_crashed_driver_leaves_a_conflict(repo: Repo, program: str, size: int) -> None:
    """If the program cannot start, or dies, git's usual conflict is left, not our side alone."""
    merged = two(repo)
    with (repo.path / ".gitattributes").open("a") as attributes:
        attributes.write(f"{HISTORY} conflict-marker-size={size}\n")
    real = Repository.around(str(repo.path)).config(DRIVER_KEY)[0]
    repo.git("config", DRIVER_KEY, real.replace(real.partition(" history merge")[0], f"sh -c '{program}'"))
    repo.git("merge", "--no-edit", "one", code=1)
    assert unmerged(repo)
    assert f"\n{'<' * size} ours\n".encode() in repo.history.read_bytes()
    assert repair(str(repo.path)).backup
    assert repo.history.read_bytes() == merged


def test_conflict_has_markers_of_the_configured_size(repo: Repo) -> None:
    """Our conflict has markers of the length in the file's attribute."""
    repo.close(2)
    rewritten(repo, "rewritten", [numbered(2)])
    with (repo.path / ".gitattributes").open("a") as attributes:
        attributes.write(f"{HISTORY} conflict-marker-size=12\n")
    repo.git("checkout", "-q", "-b", "topic", "main")
    repo.close(3)
    repo.git("merge", "--no-edit", "rewritten", code=1)
    assert b"\n<<<<<<<<<<<< ours\n" in repo.history.read_bytes()


def test_removed_driver_leaves_line_merge(repo: Repo) -> None:
    """After the registration was taken back, git merges lines again."""
    two(repo)
    unregister(Repository.around(str(repo.path)))
    repo.commit("Off")
    repo.git("merge", "--no-edit", "one", code=1)
    assert unmerged(repo)


def test_a_conflict_of_ours_can_be_mended(repo: Repo) -> None:
    """A requested repair of an undecided conflict keeps the cycles of both sides."""
    repo.close(2)
    rewritten(repo, "rewritten", [numbered(1), numbered(2, branch="edited")])
    repo.git("checkout", "-q", "-b", "topic", "main")
    repo.close(3)
    repo.git("merge", "--no-edit", "rewritten", code=1)
    found = repair(str(repo.path)).diagnosis
    assert not isinstance(found, Hopeless)
    assert repo.numbers() == [1, 2, 2, 3]
    assert not isinstance(diagnose(repo.history.read_bytes()), Hopeless)


@pytest.mark.parametrize("command", ["merge", "revert"])
def test_change_of_one_side_is_taken_without_the_driver(repo: Repo, command: str) -> None:
    """A cycle that only one side removed is gone without a message, as docs/merging.md says; else it is a conflict."""
    repo.close(2)
    repo.git("branch", "topic")
    repo.git("checkout", "-q", "-b", "removed")
    repo.git("revert", "--no-edit", "HEAD")
    words = ["merge", "--no-edit", "removed"] if command == "merge" else ["revert", "--no-edit", "topic"]
    for changed in (False, True):
        repo.git("checkout", "-q", "-B", "now", "topic")
        if changed:
            repo.close(3)
        repo.git(*words, code=int(changed))
        assert unmerged(repo) is changed
        assert changed or repo.numbers() == [1]
        repo.git("reset", "-q", "--hard")
