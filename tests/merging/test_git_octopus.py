"""Octopus merges, for which git calls no merge driver, lose no cycle."""

from __future__ import annotations

from pathlib import Path

from nexus_mcp.merging.repair import repair
from tests.merging.repo import Repo


def branches(path: Path) -> Repo:
    """One, two and three: 2 closed on the first, 3 on the second, a file of code on the third."""
    repo = Repo.made(path / "repo")
    repo.branch("one", "main", 2)
    repo.branch("two", "main", 3)
    repo.git("checkout", "-q", "-b", "three", "main")
    (repo.path / "code").write_text("x\n")
    repo.commit("Code")
    return repo


def parents(repo: Repo) -> int:
    return len(repo.git("rev-list", "--parents", "-n", "1", "HEAD").out.split()) - 1


def test_octopus_with_one_closing_branch_merges(tmp_path: Path) -> None:
    """An octopus of branches of which one closed cycles has them all."""
    repo = branches(tmp_path)
    repo.git("checkout", "-q", "-b", "four", "main")
    (repo.path / "more").write_text("x\n")
    repo.commit("More")
    repo.git("merge", "--no-edit", "two", "three")
    assert (parents(repo), repo.numbers(), repo.clean()) == (3, [1, 3], True)


def test_octopus_with_several_closing_branches_is_refused_by_git(tmp_path: Path) -> None:
    """If several branches closed a cycle, git gives up and leaves everything unchanged; merged one by one they
    merge.
    """
    repo = branches(tmp_path)
    repo.git("checkout", "-q", "one")
    assert "Should not be doing an octopus" in repo.git("merge", "--no-edit", "two", "three", code=2).out
    repo.git("reset", "-q", "--merge")
    assert (repo.numbers(), repo.clean()) == ([1, 2], True)
    repo.git("merge", "--no-edit", "two")
    repo.git("merge", "--no-edit", "three")
    assert (repo.numbers(), repo.clean()) == ([1, 2, 3], True)


def test_conflict_with_the_last_octopus_branch_is_resolvable(tmp_path: Path) -> None:
    """A conflict with the last branch can be resolved; repaired, it becomes the requested octopus merge."""
    repo = branches(tmp_path)
    repo.git("checkout", "-q", "one")
    repo.git("merge", "--no-edit", "three", "two", code=1)
    assert b"<<<<<<<" in repo.history.read_bytes()
    assert repair(str(repo.path)).backup
    (repo.path / ".nexus/history.backup.json").unlink()
    repo.git("add", ".nexus/history.json")
    repo.git("commit", "-q", "--no-edit")
    assert (parents(repo), repo.numbers()) == (3, [1, 2, 3])
