"""Conflicts without markers, in a file that looks complete, are repaired from git's index."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.merging.diagnosis import Conflict, Healthy, Hopeless
from nexus_mcp.merging.repair import examine, repair
from tests.merging.repo import HISTORY, Repo
from tests.merging.support import OURS, numbered, titles

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """No driver, no markers: git takes the history for binary. Our side closed 2, theirs 3."""
    repo = Repo(tmp_path / "repo")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    (repo.path / ".gitattributes").write_text("*.json -merge\n")
    repo.close(1)
    repo.branch("theirs", "main", 3)
    repo.git("checkout", "-q", "main")
    repo.close(2)
    return repo


def test_repair_adds_the_cycles_that_the_file_lacks(repo: Repo, capsys: Capture) -> None:
    """A readable file that is one side alone becomes the union; a file with the cycles of both sides is whole."""
    repo.git("merge", "theirs", code=1)
    assert repo.numbers() == [1, 2]
    words = ["history", "repair", "--project", str(repo.path)]
    assert main([*words, "--dry-run"]) == 1
    assert repo.numbers() == [1, 2]
    assert capsys.readouterr().out.splitlines() == [
        f"{HISTORY} can be read, with 2 cycles, but git has a conflict for it: "
        "2 cycles on our side, 2 cycles on theirs, 3 cycles in all.",
        "Cycles of the result, with their sources:",
        "  cycle 1: 1970-01-01T00:01:00.000Z, our side and their side",
        "  cycle 2: 1970-01-01T00:02:00.000Z, our side",
        "  cycle 3: 1970-01-01T00:03:00.000Z, their side",
        "Nothing was changed. nexus-mcp history repair keeps the cycles of both sides, each once.",
    ]
    assert main(words) == 0
    assert repo.numbers() == [1, 2, 3]
    assert titles((repo.path / ".nexus/history.backup.json").read_bytes()) == [1, 2]
    assert isinstance(repair(str(repo.path)).diagnosis, Healthy)


def test_cycles_only_in_the_file_are_kept(repo: Repo) -> None:
    """Cycles closed since, or written by hand, stay, and git's sides are not read once the file is added."""
    repo.git("merge", "theirs", code=1)
    repo.history.write_bytes(OURS([numbered(1), numbered(2), numbered(4)]))
    found = examine(str(repo.path)).diagnosis
    assert isinstance(found, Conflict)
    assert (titles(found.data), found.readable, found.others) == ([1, 2, 3, 4], 3, 1)
    repo.git("add", "-A")
    assert isinstance(examine(str(repo.path)).diagnosis, Healthy)


@pytest.mark.parametrize("damaged", ["theirs", "main"])
def test_damaged_side_is_reported(repo: Repo, damaged: str, capsys: Capture) -> None:
    """With a damaged side no file is called whole and no cycle dropped; the message says where the sides are."""
    repo.git("checkout", "-q", damaged)
    repo.history.write_bytes(repo.history.read_bytes()[:-60] + b"\0" * 60)
    repo.commit("Damaged")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "theirs", code=1)
    before = repo.history.read_bytes()
    assert main(["history", "repair", "--yes", "--project", str(repo.path)]) == 1
    told = capsys.readouterr().out
    assert f"Nothing was changed. See what the sides hold (git show :2:./{HISTORY} is ours" in told
    assert isinstance(examine(str(repo.path)).diagnosis, Hopeless)
    assert repo.history.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cherry-pick", "theirs"), "A cherry-pick is in progress: their side "),
        (("revert", "HEAD^"), "A revert is in progress: the result still has the cycles that the revert removes."),
        (("merge", "theirs"), "Nothing was changed."),
    ],
)
def test_repair_names_the_operation_in_progress(repo: Repo, words: tuple[str, ...], told: str, capsys: Capture) -> None:
    """If the sides are not two merged branches, the message describes what the result combines."""
    (repo.path / ".git/info/attributes").write_text("*.json merge\n")
    repo.close(4)
    repo.git(*words, code=1)
    assert main(["history", "repair", "--dry-run", "--project", str(repo.path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1 if "side" in told or "revert" in told else -1].startswith(told)


def test_repair_names_the_remaining_git_command(repo: Repo, capsys: Capture) -> None:
    """After a repair, and for a whole file, the message names git add, unless it was run already."""
    repo.git("merge", "theirs", code=1)
    waits = f"git still has a conflict for this file: run git add {HISTORY}, then continue the merge or rebase."
    for told in ("Repaired.", "nothing to repair."):
        assert main(["history", "repair", "--project", str(repo.path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert (lines[-1], told in lines[-2]) == (waits, True)
    repo.git("add", HISTORY)
    assert main(["history", "repair", "--project", str(repo.path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith(": nothing to repair.")
    repo.history.write_bytes(repo.history.read_bytes()[:-60])
    assert main(["history", "repair", "--yes", "--project", str(repo.path)]) == 0
    assert "git add" not in capsys.readouterr().out


def test_nothing_of_the_repository_is_run(repo: Repo, tmp_path: Path) -> None:
    """No monitor, filter or converter that the repository names is started to see a conflict."""
    repo.git("merge", "theirs", code=1)
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    (repo.path / ".git/info/attributes").write_text("*.json filter=x diff=x\n")
    for key in ("core.fsmonitor", "core.pager", "filter.x.smudge", "filter.x.clean", "diff.x.textconv"):
        repo.git("config", key, str(trap))
    sprung.unlink(missing_ok=True)
    assert repair(str(repo.path)).backup
    assert not sprung.exists()
    repo.git("ls-files", "--unmerged")  # so it was armed
    assert sprung.exists()
