"""Real merges by git: branches that each closed cycles merge without a conflict."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from nexus_mcp.merging.driver import register
from nexus_mcp.merging.repository import Repository
from tests.cli.support import CHECKOUT
from tests.merging.repo import HISTORY, Repo
from tests.merging.support import OURS, numbered


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo.made(tmp_path / "repo")


def test_merge_gives_the_same_bytes_both_ways(repo: Repo) -> None:
    """Both directions of a merge give the same bytes, old cycles first; the other branch is then fast-forwarded."""
    past = repo.history.read_bytes()
    repo.branch("one", "main", 2, 5)
    repo.branch("two", "main", 3, 4)
    repo.git("merge", "--no-edit", "one")
    merged = repo.history.read_bytes()
    assert merged == OURS([numbered(number) for number in range(1, 6)])
    assert merged.startswith(past.rstrip()[: -len("\n  ]\n}")])
    repo.git("checkout", "-q", "one")
    repo.git("merge", "--no-edit", "two~1")
    assert repo.history.read_bytes() == merged
    repo.git("checkout", "-q", "main")
    assert "Fast-forward" in repo.git("merge", "two").out
    assert "up to date" in repo.git("merge", "one~1").out
    assert (repo.history.read_bytes(), repo.clean()) == (merged, True)


def test_criss_cross_merge_succeeds(repo: Repo) -> None:
    """Branches that merged each other, and closed cycles since, merge again: git then merges their pasts first."""
    repo.branch("one", "main", 2)
    repo.branch("two", "main", 3)
    repo.git("checkout", "-q", "-b", "three", "one")
    repo.git("merge", "--no-edit", "two")
    repo.git("checkout", "-q", "two")
    repo.git("merge", "--no-edit", "one")
    repo.close(5)
    repo.git("checkout", "-q", "three")
    repo.close(4)
    assert len(repo.git("merge-base", "--all", "two", "three").out.split()) == 2
    repo.git("merge", "--no-edit", "two")
    assert repo.numbers() == [1, 2, 3, 4, 5]


def test_rebase_takes_over_each_cycle(repo: Repo) -> None:
    """A rebase of several commits takes over each one's cycle, among later ones of the other branch, too."""
    repo.branch("topic", "main", 3, 5, 7)
    repo.git("checkout", "-q", "main")
    repo.close(2, 4, 6)
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "main")
    assert repo.numbers() == [1, 2, 3, 4, 5, 6, 7]
    counts = [repo.git("show", f"{commit}:{HISTORY}").out.count('"Work ') for commit in ("main", "HEAD~2", "HEAD~1")]
    assert counts == [4, 5, 6]
    repo.git("checkout", "-q", "main")
    assert "Fast-forward" in repo.git("merge", "topic").out


def test_rebase_that_drops_a_commit(repo: Repo) -> None:
    """A cycle whose commit a rebase drops does not return with the next one."""
    repo.branch("topic", "main", 3, 4)
    repo.branch("other", "main", 2)
    repo.git("rebase", "--onto", "other", "topic~1", "topic")
    assert repo.numbers() == [1, 2, 4]


def test_cherry_pick_takes_only_its_cycles(repo: Repo) -> None:
    """A cherry-pick adds only the cycles of its commit; a second one, or one of present cycles, changes nothing."""
    repo.branch("topic", "main", 3, 4, 6)
    repo.branch("other", "main", 2, 5)
    repo.git("cherry-pick", "topic~1")
    assert (repo.numbers(), repo.clean()) == ([1, 2, 4, 5], True)
    assert "empty" in repo.git("cherry-pick", "topic~1", code=1).out
    assert repo.numbers() == [1, 2, 4, 5]
    repo.git("cherry-pick", "--skip")
    repo.git("merge", "--no-edit", "topic")
    assert repo.numbers() == [1, 2, 3, 4, 5, 6]


def test_merge_after_a_squash_doubles_nothing(repo: Repo) -> None:
    """A branch that continues after its squash merge merges again without repeating a cycle."""
    repo.branch("topic", "main", 2)
    repo.git("checkout", "-q", "main")
    repo.close(3)
    repo.git("merge", "--squash", "topic")
    repo.commit("Squashed")
    repo.git("checkout", "-q", "topic")
    repo.close(4)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "--no-edit", "topic")
    assert repo.numbers() == [1, 2, 3, 4]


def test_stashed_cycle_comes_back(repo: Repo) -> None:
    """A stashed cycle is restored after one that was closed meanwhile, on another branch, too."""
    repo.history.write_bytes(OURS([numbered(1), numbered(3)]))
    repo.git("stash")
    repo.branch("other", "main", 2)
    repo.git("stash", "pop")
    assert repo.numbers() == [1, 2, 3]


def test_history_begun_on_both_branches_merges(repo: Repo) -> None:
    """Where a history began on both branches, the merge has the cycles of both."""
    for name, numbers in (("one", (2, 5)), ("two", (3, 4))):
        repo.git("checkout", "-q", "--orphan", name)
        repo.git("rm", "-q", "--cached", HISTORY)
        repo.history.unlink()
        repo.close(*numbers)
    repo.git("merge", "--no-edit", "--allow-unrelated-histories", "one")
    assert repo.numbers() == [2, 3, 4, 5]


def test_linked_worktree_merges_alike(repo: Repo, tmp_path: Path) -> None:
    """A linked worktree merges as the main one does, for they share the configuration."""
    repo.branch("one", "main", 2)
    repo.branch("two", "main", 3)
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "one")
    linked = Repo(tmp_path / "linked")
    linked.git("merge", "--no-edit", "two")
    assert linked.numbers() == [1, 2, 3]


@pytest.mark.parametrize("below", ["a b/[x]/", 'q"\\é\t/'])
def test_project_in_a_subfolder_is_merged(tmp_path: Path, below: str) -> None:
    """A project below the root of its repository is found, whatever the folder is called; another is left alone."""
    repo = Repo.made(tmp_path / "repo", below)
    other = repo.path / HISTORY
    repo.branch("one", "main", 2)
    repo.branch("two", "main", 3)
    repo.git("merge", "--no-edit", "one")
    assert repo.numbers() == [1, 2, 3]
    assert not other.exists()
    assert repo.git("check-attr", "merge", "--", HISTORY).out.endswith("unspecified\n")


def test_renamed_folder_still_merges(tmp_path: Path) -> None:
    """A branch that moved the project still merges with one that closed cycles where it was."""
    repo = Repo.made(tmp_path / "repo", "old/")
    repo.branch("topic", "main", 2)
    repo.git("checkout", "-q", "main")
    repo.git("mv", "old", "new")
    moved = Repo(repo.path, "new/")
    register(Repository.around(str(moved.project)), (sys.executable, "-m", "nexus_mcp"))
    moved.close(3)
    moved.git("merge", "--no-edit", "-s", "ort", "topic")
    assert moved.numbers() == [1, 2, 3]
    assert not repo.history.exists()
    # Where the line is not there yet, it is a conflict of lines at the new place.
    moved.git("checkout", "-q", "topic")
    moved.git("merge", "--no-edit", "main~1", code=1)
    assert b"<<<<<<<" in moved.history.read_bytes()


def test_merged_file_has_the_line_ends_of_git(repo: Repo) -> None:
    """Where git turns line ends into CRLF on checkout, the merged file has them, too."""
    with (repo.path / ".gitattributes").open("a") as attributes:
        attributes.write("*.json text eol=crlf\n")
    repo.commit("CRLF")
    repo.git("checkout", "-q", "-b", "one")
    repo.git("rm", "-q", "--cached", HISTORY)
    repo.git("reset", "-q", "--hard")
    assert b"\r\n" in repo.history.read_bytes()
    repo.close(2)
    repo.branch("two", "main", 3)
    repo.git("merge", "--no-edit", "one")
    assert repo.numbers() == [1, 2, 3]
    assert repo.history.read_bytes().count(b"\r\n") == repo.history.read_bytes().count(b"\n")
    assert repo.clean()


def test_odd_paths_of_the_program_work(repo: Repo, tmp_path: Path) -> None:
    """The program's path may contain blanks, quotes, dollars, percent signs and line ends."""
    folder = tmp_path / 'it\'s a %A "$HOME" `dir`\n%%'
    folder.mkdir()
    program = folder / "nexus-mcp"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(CHECKOUT))} exec {shlex.quote(sys.executable)} -m nexus_mcp "$@"\n'
    )
    program.chmod(0o755)
    register(Repository.around(str(repo.path)), (str(program),))
    repo.branch("one", "main", 2)
    repo.branch("two", "main", 3)
    assert repo.git("merge", "--no-edit", "one").out.count("nexus-mcp") == 0
    assert repo.numbers() == [1, 2, 3]
