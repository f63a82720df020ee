"""The user's branch moves only to verified work; if git stops within the move, the checkout is put back."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.cli import main
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.events import Verified
from nexus_mcp.run.final_merge import why_unverified
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.projection import RunRecord, project
from tests.run.runs import Ground, git
from tests.run.test_command import until
from tests.run.test_terminal import typed
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
BOTH: list[Json] = [*ONE, {"id": 2, "title": "Two"}]
BEFORE = {"a": "old a\n", "b": "old b\n", "gone": "old\n", "swap": "a file\n"}
CHANGES = "echo new a > a; echo new b > b; rm gone swap; mkdir -p d swap; echo x > d/e; echo y > swap/f; : > empty"
FULL = os.strerror(errno.ENOSPC)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """Return a completed run that changes, adds and removes files, and is not merged."""
    found = Ground(tmp_path, ONE, {"1": [[{"run": CHANGES}]]}, BEFORE)
    found.configure()
    code, out, err = found.cli("--trust", "--merge", "never")
    assert code == 0, out + err
    return found


def is_as_before(ground: Ground) -> bool:
    """Return whether the checkout is that of the base, without further files."""
    files = {name: (ground.root / name).read_text() for name in BEFORE if (ground.root / name).is_file()}
    return files == BEFORE and git(ground.root, "status", "--porcelain", "-uall") == ""


def merge(ground: Ground) -> int:
    """Return the exit code of `nexus-mcp run merge` in this process."""
    return main(["run", "merge", "--project", str(ground.root)])


def stops(write: object, *, stays_full: bool = False) -> object:
    """Return a replacement of Git.run whose fast-forward writes some files and then meets a full disk.

    With `stays_full` no file can be put back either.
    """
    real = Git.run

    async def run(self: Git, *words: str, **more: object) -> tuple[int, str]:
        if words[0] == "merge":
            write(self.folder)  # type: ignore[operator]
            raise GitFailed(words, 1, f"error: unable to write file b: {FULL}")
        if words[0] == "checkout-index" and stays_full:
            return 1, ""
        return await real(self, *words, **more)  # type: ignore[arg-type]

    return run


def half_written(folder: str) -> None:
    """Leave the files that git leaves when the disk is full after some files."""
    root = Path(folder)
    (root / "gone").unlink()
    (root / "swap").unlink()
    (root / "a").write_text("new a\n")
    (root / "b").write_text("ne")
    (root / "d").mkdir()
    (root / "d/e").write_text("")
    (root / "empty").write_text("")
    (root / "swap").mkdir()
    (root / "swap/f").write_text("y\n")


def test_a_move_within_which_the_disk_is_full_is_taken_back(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    """The checkout is as it was, the sentence says so, and the next call completes the move."""
    with patch.object(Git, "run", stops(half_written)):
        assert merge(ground) == 3
    said = capsys.readouterr().err
    assert "The disk is full" in said
    assert "Your checkout is as it was" in said
    assert "then continue with nexus-mcp run merge" in said
    assert is_as_before(ground)
    assert merge(ground) == 0
    assert (ground.root / "b").read_text() == "new b\n"


def test_a_checkout_that_cannot_be_put_back_is_put_back_later(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk stays full: the files are named, a run names the way out, and the next merge goes on."""
    with patch.object(Git, "run", stops(half_written, stays_full=True)):
        assert merge(ground) == 3
    said = capsys.readouterr().err
    assert "these are not as they were: a, b, gone, swap" in said
    assert "Do not commit them" in said
    assert "nexus-mcp run merge" in ground.cli("precheck")[1]
    assert merge(ground) == 0
    assert git(ground.root, "status", "--porcelain", "-uall") == ""
    assert (ground.root / "swap/f").read_text() == "y\n"


@pytest.mark.parametrize("content", ["", "{", '{"old": "a", "new": "b"}', '{"old": "a", "new": "b", "there": 1}'])
def test_an_unreadable_record_of_a_move_stays(ground: Ground, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """A record that cannot be read stops the merge with its name and the next step, and is not removed."""
    with patch.object(Git, "run", stops(half_written, stays_full=True)):
        assert merge(ground) == 3
    [record] = ground.root.rglob("merge.json")
    record.write_text(content)
    capsys.readouterr()
    assert merge(ground) == 3
    said = capsys.readouterr().err
    assert "merge.json: it is not the record of a move" in said
    assert "git status" in said
    assert record.read_text() == content


def test_a_real_git_that_stops_within_the_move(ground: Ground) -> None:
    """A filter of the user fails at the second file, after git wrote the first one. It also keeps git from putting
    that file back; all others are as before.
    """
    (ground.root / ".git/info/attributes").write_text("b filter=stop\n")
    for name, value in (("smudge", "false"), ("clean", "cat"), ("required", "true")):
        git(ground.root, "config", f"filter.stop.{name}", value)
    code, _, err = ground.cli("merge")
    assert (code, "not as they were: b." in err) == (3, True), err
    assert git(ground.root, "status", "--porcelain", "-uall") == "D b"
    git(ground.root, "config", "filter.stop.smudge", "cat")
    assert ground.cli("merge")[0] == 0
    assert git(ground.root, "status", "--porcelain", "-uall") == ""
    assert (ground.root / "b").read_text() == "new b\n"


def test_a_file_that_the_user_saves_meanwhile_stays(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that git did not write is left as it is, and named."""

    def and_the_user(folder: str) -> None:
        half_written(folder)
        Path(folder, "b").write_text("mine\n")
        Path(folder, "d/e").write_text("mine, too\n")

    with patch.object(Git, "run", stops(and_the_user)):
        assert merge(ground) == 3
    assert "not as they were: b." in capsys.readouterr().err
    assert (ground.root / "b").read_text() == "mine\n"
    assert (ground.root / "d/e").read_text() == "mine, too\n"
    assert (ground.root / "a").read_text() == "old a\n"


def test_an_untracked_file_in_the_way_stays(ground: Ground) -> None:
    """git refuses to overwrite it, even if it is empty like a file that git has just created."""
    (ground.root / "d").mkdir()
    (ground.root / "d/e").touch()
    code, _, err = ground.cli("merge")
    assert (code, "d/e" in err) == (3, True)
    assert (ground.root / "d/e").exists()
    assert (ground.root / "a").read_text() == "old a\n"


def test_a_branch_of_another_name_is_not_moved(tmp_path: Path) -> None:
    """The person answers yes after a switch to another branch, which is not the one that the question named."""
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "f1", "text": "1\n"}]]})
    ground.configure()
    git(ground.root, "branch", "other")
    heads = git(ground.root, "rev-parse", "other")
    code, out = typed(ground, "--trust", before=lambda: git(ground.root, "checkout", "-q", "other"))
    assert (code, "main is not checked out any more" in out) == (3, True), out
    assert git(ground.root, "rev-parse", "other") == heads


def test_a_failed_run_with_checks_at_the_end_is_merged_only_verified(tmp_path: Path) -> None:
    """Task 3 fails. The work of the others passes alone but not together, so the run does not offer the merge."""
    rows = [*BOTH, {"id": 3, "title": "Three"}]
    script: dict[str, Json] = {"1": [[{"write": "f1", "text": "x"}]], "2": [[{"write": "f2", "text": "x"}]]}
    ground = Ground(tmp_path, rows, {**script, "3": [[{"exit": 1}]]})
    once = {"tiers": [{"tier": "standard", "attempts": 1}]}
    ground.configure(checks={"test": "test ! -e f1 || test ! -e f2"}, regression="end", jobs=3, **once)
    code, out = typed(ground, "--trust")
    assert code == 1, out
    assert "test fails on the integration branch" in out
    assert "Move main to" not in out
    assert ground.cli("merge")[0] == 3


def test_a_failed_run_that_is_verified_may_be_merged(tmp_path: Path) -> None:
    """The checks ran at its end on exactly the commit of the integration branch; `run merge` moves the branch."""
    script: dict[str, Json] = {"1": [[{"write": "f1", "text": "x"}]], "2": [[{"exit": 1}]]}
    ground = Ground(tmp_path, BOTH, script)
    ground.configure(regression="end", tiers=[{"tier": "standard", "attempts": 1}])
    assert ground.cli("--trust", "--merge", "never")[0] == 1
    (verified,) = [event for event in ground.log() if isinstance(event, Verified)]
    assert (verified.commit, verified.reason) == (ground.state().integration, "")
    assert ground.cli("merge")[0] == 0
    assert (ground.root / "f1").exists()


def second_at_work(ground: Ground) -> bool:
    ground.find_run()
    return bool(ground.run_id) and any(event.type == "session" and event.task == 2 for event in ground.log())


def test_work_whose_last_checks_did_not_run_is_not_merged(tmp_path: Path) -> None:
    """The run was ended by a signal after its first merge; the next run goes on, and verifies the whole."""
    script: dict[str, Json] = {
        "1": [[{"write": "f1", "text": "x"}]],
        "2": [[{"run": "sleep 300"}], [{"write": "f2", "text": "x"}]],
    }
    ground = Ground(tmp_path, [*ONE, {"id": 2, "title": "Two", "deps": [1]}], script)
    ground.configure(regression="end")
    process = ground.start("--trust", "--merge", "auto")
    until(lambda: second_at_work(ground))
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate()
    assert ground.state().integration
    assert "Your branch has the work" not in out
    code, _, err = ground.cli("merge")
    assert (code, "did not run" in err) == (3, True), err
    assert not (ground.root / "f1").exists()
    assert ground.cli("--trust", "--merge", "auto")[0] == 0
    assert (ground.root / "f2").exists()


@pytest.mark.parametrize(("regression", "is_refused"), [("each", False), ("end", True), ("none", False)])
def test_the_commit_that_is_merged_is_the_one_that_was_checked(regression: str, is_refused: bool) -> None:
    """Checks of an earlier commit say nothing about a later one."""
    config = RunConfig.model_validate({"regression": regression})
    earlier = project([Verified(commit="1" * 40)], RunRecord(integration="2" * 40))
    assert bool(why_unverified(config, earlier)) is is_refused
    assert not why_unverified(config, project([Verified(commit="2" * 40)], RunRecord(integration="2" * 40)))


def test_a_completed_run_that_is_not_merged_is_named_again(ground: Ground) -> None:
    """`nexus-mcp run` without open tasks names the unmerged run and ends with code 3."""
    code, out, err = ground.cli("--merge", "auto")
    assert (code, f"nexus-mcp run merge {ground.run_id}" in out) == (3, True), out + err
    assert ground.cli("merge")[0] == 0
    assert ground.cli("--merge", "auto")[:2] == (0, "All tasks are completed.\n")
