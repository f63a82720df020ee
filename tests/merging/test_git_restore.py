"""A damaged history with a copy in git: --from restores a commit's cycles, --yes loses none of HEAD."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.merging.diagnosis import Hopeless
from nexus_mcp.merging.repair import examine
from tests.merging.repo import HISTORY, Repo
from tests.merging.support import OURS, grown, numbered, titles

BACKUP = ".nexus/history.backup.json"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(params=["", "a/b/"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    """A repository with the cycles 1, 2 and 3 in its commits."""
    made = Repo.made(tmp_path / "repo", request.param)
    made.close(2, 3)
    return made


def run(repo: Repo, *options: str) -> int:
    return main(["history", "repair", "--project", str(repo.project), *options])


@pytest.mark.parametrize(
    "broken",
    [
        *(b"", b"\n", b"[]", b"null", b"garbage", b"\0" * 4096, b'{"cycles": 5}', b"\xff\xfe"),
        *(b"<<<<<<< ours\n", b"<<<<<<< ours\n{}\n=======\n{}\n"),
    ],
)
def test_lost_file_is_restored_with_from(repo: Repo, capsys: Capture, broken: bytes) -> None:
    """A plain repair refuses and names the whole copy; --from writes that copy, and keeps the file beside it."""
    whole = repo.history.read_bytes()
    repo.history.write_bytes(broken)
    for options in ([], ["--yes"], ["--dry-run"]):
        assert run(repo, *options) == 1
        told = capsys.readouterr().out
        assert (
            "HEAD has a complete copy of it, with 3 cycles: nexus-mcp history repair --from HEAD restores that" in told
        )
        assert repo.history.read_bytes() == broken
    assert run(repo, "--from", "HEAD", "--dry-run") == 1
    assert repo.history.read_bytes() == broken
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        "HEAD has 3 cycles that the file lacks.",
        "Cycles of the result, with their sources:",
    ]
    assert lines[3:4] == ["  cycles 1 to 3: 1970-01-01T00:01:00.000Z to 1970-01-01T00:03:00.000Z, HEAD"]
    assert run(repo, "--from", "HEAD") == 0
    assert repo.history.read_bytes() == whole
    assert (repo.project / BACKUP).read_bytes() == broken


def test_newer_cycles_come_after_those_of_the_commit(repo: Repo, capsys: Capture) -> None:
    """Readable cycles closed since the commit are kept, after the cycles of the commit."""
    whole = grown(grown(repo.history.read_bytes(), numbered(4, 0)), numbered(5))
    repo.history.write_bytes(whole[:-30].replace(b"Work 2", b"Work \0"))
    assert run(repo, "--from", "HEAD~1") == 0
    assert titles(repo.history.read_bytes()) == [1, 2, 3, 4]
    assert capsys.readouterr().out.splitlines()[1:6] == [
        "HEAD~1 has 1 cycle that the file lacks.",
        "Cycles of the result, with their sources:",
        "  cycle 1: 1970-01-01T00:01:00.000Z, the file and HEAD~1",
        "  cycle 2: 1970-01-01T00:02:00.000Z, HEAD~1",
        "  cycles 3 to 4: 1970-01-01T00:03:00.000Z to 1970-01-01T00:00:00.000Z, the file",
    ]


def test_yes_keeps_every_cycle_of_head(repo: Repo, capsys: Capture) -> None:
    """A cycle that the file has damaged and HEAD has whole is kept from HEAD; a plain repair says so."""
    torn = grown(repo.history.read_bytes(), numbered(4)).replace(b"Work 2", b"Work \0")
    repo.history.write_bytes(torn)
    assert run(repo) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "The copy in HEAD has 1 cycle that cannot be read here." in lines
    assert lines[-5:] == [
        "  cycle 1: 1970-01-01T00:01:00.000Z, the file and HEAD",
        "  cycle 2: 1970-01-01T00:02:00.000Z, HEAD",
        "  cycle 3: 1970-01-01T00:03:00.000Z, the file and HEAD",
        "  cycle 4: 1970-01-01T00:04:00.000Z, the file",
        "Nothing was changed. nexus-mcp history repair --yes keeps what can be read and what HEAD has, "
        "and a copy of this file.",
    ]
    assert repo.history.read_bytes() == torn
    assert run(repo, "--yes") == 0
    assert titles(repo.history.read_bytes()) == [1, 2, 3, 4]
    assert (repo.project / BACKUP).read_bytes() == torn


@pytest.mark.parametrize("trouble", ["no git", "a missing object"])
def test_yes_is_refused_where_git_does_not_answer(
    repo: Repo, capsys: Capture, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """If the content of HEAD is unknown, no cycle is dropped."""
    torn = repo.history.read_bytes()[:-30]
    if trouble == "no git":
        monkeypatch.setenv("PATH", str(repo.path))
    else:
        blob = repo.git("rev-parse", f"HEAD:./{repo.history.relative_to(repo.path).as_posix()}").out.strip()
        (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repo.history.write_bytes(torn)
    assert run(repo, "--yes") == 1
    told = capsys.readouterr().out
    assert "It is unknown whether HEAD has cycles that cannot be read here: git does not report" in told
    assert "Nothing was changed, also with --yes" in told
    assert repo.history.read_bytes() == torn
    assert not (repo.project / BACKUP).exists()


def test_damaged_copy_in_head_does_not_stop_a_repair(repo: Repo) -> None:
    """The readable cycles of both files are kept."""
    whole = repo.history.read_bytes()
    repo.history.write_bytes(whole.replace(b"Work 2", b"Work \0"))
    repo.commit("Damage it")
    repo.history.write_bytes(whole[:-30])
    assert run(repo, "--yes") == 0
    assert titles(repo.history.read_bytes()) == [1, 3, 2]


def test_a_repository_without_a_commit_has_nothing_to_compare_with(tmp_path: Path) -> None:
    fresh = Repo(tmp_path / "fresh")
    fresh.history.parent.mkdir(parents=True)
    fresh.git("init", "-q")
    fresh.history.write_bytes(OURS([numbered(1), numbered(2)])[:-30])
    assert run(fresh, "--yes") == 0
    assert titles(fresh.history.read_bytes()) == [1]


def test_a_whole_file_that_lacks_cycles_gets_them(repo: Repo, capsys: Capture) -> None:
    """With --from a readable file also gets the missing cycles of a commit; otherwise it counts as whole."""
    repo.history.write_bytes(OURS([numbered(3), numbered(4)]))
    assert run(repo) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert run(repo, "--from", "HEAD") == 0
    assert titles(repo.history.read_bytes()) == [1, 2, 3, 4]
    assert run(repo, "--from", "HEAD") == 0
    assert "is whole, with 4 cycles: nothing to repair." in capsys.readouterr().out


def test_deleted_file_is_restored_with_from(repo: Repo, capsys: Capture) -> None:
    """A plain repair names the copy; --from writes the file again, without a backup, because no file existed."""
    whole = repo.history.read_bytes()
    repo.history.unlink()
    for options in ([], ["--yes"]):
        assert run(repo, *options) == 1
        assert capsys.readouterr().out.splitlines()[::2] == [
            "There is no .nexus/history.json.",
            "Nothing was changed. HEAD has a complete copy of it, with 3 cycles: "
            "nexus-mcp history repair --from HEAD restores that.",
        ]
    assert run(repo, "--from", "HEAD") == 0
    assert repo.history.read_bytes() == whole
    assert not (repo.project / BACKUP).exists()
    repo.history.unlink()
    repo.history.parent.joinpath(".gitignore").unlink(missing_ok=True)
    for path in sorted(repo.history.parent.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    repo.history.parent.rmdir()
    assert run(repo, "--from", "HEAD") == 0
    assert repo.history.read_bytes() == whole


@pytest.mark.parametrize(
    ("revision", "code", "told"),
    [
        ("nowhere", 2, "--from: git has no commit 'nowhere' here. git log lists the commits."),
        ("-x", 2, "--from: git has no commit '-x' here."),
        ("--all", 2, "--from: git has no commit '--all' here."),
        ("", 2, "--from needs the name of a commit. Example: --from HEAD"),
        ("before", 1, "before has no .nexus/history.json"),
        ("linked", 1, "it is not a regular file in linked"),
    ],
)
def test_useless_commit_is_refused(repo: Repo, capsys: Capture, revision: str, code: int, told: str) -> None:
    """A commit that is not there is a fault of the command line; one without the file cannot help."""
    repo.git("checkout", "-q", "--orphan", "before")
    repo.git("rm", "-rfq", ".")
    repo.git("commit", "-q", "--allow-empty", "-m", "Nothing")
    repo.history.parent.mkdir(parents=True, exist_ok=True)
    os.symlink("elsewhere", repo.history)
    repo.git("checkout", "-q", "-b", "linked")
    repo.commit("A link")
    repo.git("checkout", "-q", "main")
    repo.history.write_bytes(b"")
    assert run(repo, f"--from={revision}") == code
    captured = capsys.readouterr()
    assert told in captured.out + captured.err
    assert repo.history.read_bytes() == b""


def test_a_conflict_has_two_sides(repo: Repo) -> None:
    """--from would take one of them, so it is refused while there is a conflict."""
    marked = b"<<<<<<< HEAD\n" + repo.history.read_bytes() + b"=======\n{}\n>>>>>>> x\n"
    repo.history.write_bytes(marked)
    found = examine(str(repo.project), "HEAD").diagnosis
    assert isinstance(found, Hopeless)
    assert "without --from" in found.next_step
    assert run(repo, "--from", "HEAD") == 1
    assert repo.history.read_bytes() == marked


def test_repair_from_a_commit_needs_a_repository(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / ".nexus").mkdir()
    (tmp_path / HISTORY).write_bytes(b"")
    assert main(["history", "repair", "--from", "HEAD", "--project", str(tmp_path)]) == 2
    assert "--from: there is no git repository here." in capsys.readouterr().err


def test_many_changes_of_source_are_cut(repo: Repo, capsys: Capture) -> None:
    """Forty lines name the sources of cycles; the cycles of further lines are counted."""
    numbers = range(1, 101)
    repo.history.write_bytes(OURS([numbered(number) for number in numbers]))
    repo.commit("Many")
    repo.history.write_bytes(OURS([numbered(number) for number in numbers if number % 2])[:-8])
    assert run(repo, "--from", "HEAD") == 0
    assert "  and 60 more cycles" in capsys.readouterr().out.splitlines()
    assert titles(repo.history.read_bytes()) == list(numbers)
    assert json.loads(repo.history.read_bytes())["cycles"][0] == numbered(1)
