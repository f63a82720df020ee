"""What a killed executor, or a power cut, leaves: the next run frees its own locks, and names those of others."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from nexus_mcp.run import dead_executor
from nexus_mcp.run.git import Git, options
from nexus_mcp.run.worktrees import Repository
from tests.run.runs import Ground, git
from tests.run.test_command import WAIT_S, at_work, ready, until
from tests.run.test_environment import PAIR, SAME, Killed
from tests.support import Json

TWO: list[Json] = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two", "deps": [1]}]
ASKS: dict[str, Json] = {
    "1": [[{"say": "STATUS: blocked\nWhich?"}], [{"write": "f1", "text": "1\n"}]],
    "2": [[{"write": "f2", "text": "2\n"}]],
}
NEVER = ("--trust", "--merge", "never")


def waiting(tmp_path: Path) -> Ground:
    """Return a run that waits for an answer, with the worktrees of the integration branch and of an attempt."""
    ground = ready(tmp_path, TWO, ASKS)
    assert ground.cli(*NEVER)[0] == 3
    assert ground.cli("answer", "q1", "That")[0] == 0
    return ground


def admin(ground: Ground, name: str) -> Path:
    """Return git's folder of a worktree of the run."""
    path = ground.worktrees / ground.run_id / name
    return Path(git(path, "rev-parse", "--absolute-git-dir"))


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock"])
@pytest.mark.parametrize("worktree", ["integration", "1-1"])
def test_a_lock_in_a_worktree_of_the_run_is_removed(tmp_path: Path, worktree: str, lock: str) -> None:
    """A git that was killed left it; no git is at work there."""
    ground = waiting(tmp_path)
    (admin(ground, worktree) / lock).touch()
    code, out, err = ground.cli(*NEVER)
    assert code == 0, out + err
    assert {"f1", "f2"} <= ground.tree().keys()
    assert not list((ground.root / ".git").rglob("*.lock"))


@pytest.mark.parametrize("name", ["integration", "1-1", "2-1"])
def test_a_lock_of_a_branch_of_the_run_is_removed(tmp_path: Path, name: str) -> None:
    """The branch moves on: it is under nexus/, where only the run writes."""
    ground = waiting(tmp_path)
    (ground.root / f".git/refs/heads/nexus/{ground.run_id}/{name}.lock").touch()
    code, out, err = ground.cli(*NEVER)
    assert code == 0, out + err
    assert {"f1", "f2"} <= ground.tree().keys()


def test_a_run_that_died_before_its_first_branch_goes_on(tmp_path: Path) -> None:
    """The log has its header, and git left the lock of the branch; the branch itself is missing."""
    ground = waiting(tmp_path)
    git(ground.root, "update-ref", "-d", f"refs/heads/nexus/{ground.run_id}/integration")
    folder = ground.root / f".git/refs/heads/nexus/{ground.run_id}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "integration.lock").touch()
    assert ground.cli(*NEVER)[0] == 0
    assert {"f1", "f2"} <= ground.tree().keys()


@pytest.mark.parametrize("worktree", ["integration", "2-1"])
def test_a_worktree_that_git_did_not_complete_is_made_again(tmp_path: Path, worktree: str) -> None:
    """git marks a worktree as locked while it writes the files; a worktree with half of the files cannot be used."""
    ground = waiting(tmp_path)
    path = ground.worktrees / ground.run_id / worktree
    if not path.exists():
        git(ground.root, "worktree", "add", "-q", "-b", f"nexus/{ground.run_id}/{worktree}", str(path))
    (admin(ground, worktree) / "locked").write_text("initializing")
    (path / "README.md").unlink()
    code, out, err = ground.cli(*NEVER)
    assert code == 0, out + err
    assert ground.tree() == {"README.md": "x", "f1": "1", "f2": "2"}
    assert "locked" not in git(ground.root, "worktree", "list", "--porcelain")


def test_clean_removes_the_locks_of_its_run(tmp_path: Path) -> None:
    """A lock of a branch or a worktree would stop git from deleting the branch or the worktree."""
    ground = waiting(tmp_path)
    assert ground.cli("--trust", "--merge", "auto")[0] == 0
    (ground.root / f".git/refs/heads/nexus/{ground.run_id}/1-1.lock").touch()
    (admin(ground, "integration") / "locked").write_text("initializing")
    code, out, err = ground.cli("clean", ground.run_id)
    assert code == 0, out + err
    assert git(ground.root, "branch", "--list", "nexus/*") == ""
    assert git(ground.root, "worktree", "list").count("\n") == 0


def test_a_worktree_that_a_person_locked_stays(tmp_path: Path) -> None:
    """A worktree is incomplete only if the reason of its lock is the one that git writes while it makes a worktree."""
    ground = waiting(tmp_path)
    git(ground.root, "worktree", "lock", "--reason", "mine", str(ground.worktrees / ground.run_id / "1-1"))
    assert ground.cli(*NEVER)[0] == 0
    assert {"f1", "f2"} <= ground.tree().keys()


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_of_the_user_stays_and_is_named(tmp_path: Path, lock: str) -> None:
    """The run needs it only to move the user's branch: the work is done, and the sentence names the lock."""
    ground = waiting(tmp_path)
    (ground.root / ".git" / lock).touch()
    code, out, err = ground.cli("--trust", "--merge", "auto")
    assert f".git/{lock}" in out, out + err
    assert "a killed git left the lock" in out
    assert "remove the file" not in out
    assert (ground.root / ".git" / lock).exists()
    assert {"f1", "f2"} <= ground.tree().keys()
    assert f"nexus-mcp run merge {ground.run_id}" in out
    assert not (ground.root / "f2").exists()
    assert code == 3
    (ground.root / ".git" / lock).unlink()
    assert ground.cli("merge")[0] == 0
    assert (ground.root / "f2").exists()


def test_a_merge_that_a_hook_refuses_leaves_the_checkout_as_it_was(tmp_path: Path) -> None:
    """git writes the files before it asks the hook: if the branch does not move, the run restores the files."""
    ground = waiting(tmp_path)
    hook = ground.root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ntest "$1" != prepared || ! grep -q refs/heads/main\n')
    hook.chmod(0o755)
    head = git(ground.root, "rev-parse", "HEAD")
    code, out, err = ground.cli("--trust", "--merge", "auto")
    assert code == 3, out + err
    assert git(ground.root, "rev-parse", "HEAD") == head
    assert git(ground.root, "status", "--porcelain") == ""
    assert not (ground.root / "f2").exists()
    hook.unlink()
    assert ground.cli("merge")[0] == 0
    assert (ground.root / "f2").exists()


def test_a_lock_is_left_while_git_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that the dead executor started goes on: the next run waits for it, and says so if it does not end."""
    monkeypatch.setattr(dead_executor, "_WAIT_S", 0.2)
    ground = waiting(tmp_path)
    lock = admin(ground, "integration") / "index.lock"
    lock.touch()
    repository = Repository(str(ground.root), ground.run_id, str(ground.worktrees))
    words = ["git", *options(hooks=False), "cat-file", "--batch"]
    with subprocess.Popen(words, cwd=ground.root, stdin=subprocess.PIPE) as running:
        with pytest.raises(dead_executor.GitAtWork, match=f"process {running.pid}"):
            asyncio.run(dead_executor.remove_locks(repository))
        assert lock.exists()
        assert running.stdin is not None
        running.stdin.close()
    assert asyncio.run(dead_executor.remove_locks(repository)) == [str(lock)]


def test_a_git_that_takes_long_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine it may be at work for any time after its executor died; only an idle one is named."""
    monkeypatch.setattr(dead_executor, "_WAIT_S", 4 * dead_executor._LOOK_S)
    ground = waiting(tmp_path)
    (admin(ground, "integration") / "index.lock").touch()
    looks: list[int] = []

    def at_work(_: Repository) -> int:
        looks.append(len(looks))
        return 4711 if len(looks) < 100 else 0

    monkeypatch.setattr(dead_executor, "_git_at_work", at_work)
    monkeypatch.setattr(dead_executor, "_progress", lambda _: float(len(looks) // 2))
    monkeypatch.setattr("nexus_mcp.run.dead_executor.asyncio.sleep", at_once)
    repository = Repository(str(ground.root), ground.run_id, str(ground.worktrees))
    assert len(asyncio.run(dead_executor.remove_locks(repository))) == 1


async def at_once(_: float) -> None:
    """Take the place of `asyncio.sleep`."""


def test_a_check_of_a_dead_executor_is_ended(tmp_path: Path) -> None:
    """The list of processes has sessions only; a check is found by the variable NEXUS_RUN in its environment."""
    ground = ready(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "f1", "text": "1\n"}]]})
    pid = tmp_path / "pid"
    slow = f"test ! -e f1 || test -e {tmp_path}/again || {{ : > {tmp_path}/again; echo $$ > {pid}; sleep 300; }}"
    ground.configure(checks={"test": slow})
    process = ground.start(*NEVER)
    until(lambda: at_work(ground) and pid.exists() and pid.read_text().strip() != "")
    process.kill()
    process.communicate(timeout=WAIT_S)
    check = psutil.Process(int(pid.read_text()))
    assert ground.cli(*NEVER)[0] == 0
    assert not check.is_running() or check.status() == psutil.STATUS_ZOMBIE
    assert ground.tree()["f1"] == "1"
    assert os.path.isdir(ground.worktrees)


def test_the_group_of_a_harness_that_was_killed_too_is_ended(tmp_path: Path) -> None:
    """A process that the harness started, in another folder: its group is known although the harness is dead."""
    pid = tmp_path / "pid"
    hangs: list[Json] = [{"run": f"(cd /; exec sleep 300) & echo $! > {pid}"}, {"hang": 300}]
    ground = ready(tmp_path, [{"id": 1, "title": "One"}], {"1": [hangs, [{"write": "f1", "text": "1\n"}]]})
    process = ground.start(*NEVER)
    until(lambda: pid.exists() and pid.read_text().endswith("\n"))
    left = psutil.Process(int(pid.read_text()))
    process.kill()
    os.kill(os.getpgid(left.pid), signal.SIGKILL)
    process.communicate(timeout=WAIT_S)
    assert left.status() != psutil.STATUS_ZOMBIE
    assert ground.cli(*NEVER)[0] == 0
    assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
    assert ground.tree()["f1"] == "1"


def test_a_merge_for_the_owner_that_was_killed_is_made_again(tmp_path: Path) -> None:
    """git was killed with the executor after it wrote files of the conflict, and before it wrote its index: they are
    set aside, the merge is made again, and its owner resolves it.
    """
    ground = Ground(tmp_path, PAIR, SAME)

    async def killed(git_: Git, *_: str) -> list[str]:
        Path(git_.folder, "f").write_text("<<<<<<< HEAD\n2\n=======\n1\n>>>>>>> x\n")
        Path(git_.folder, "other").write_text("of the other task\n")
        raise Killed

    with patch("nexus_mcp.run.merging.conflicts_of", killed), pytest.raises(Killed):
        ground.run(jobs=2)
    assert git(next(ground.worktrees.glob("*/2-1")), "status", "--porcelain")
    state = ground.run(jobs=2)
    assert [state.task(id_).state for id_ in (1, 2)] == ["completed", "completed"]
    assert ground.tree()["f"] == "1\n2"
    assert "other" not in ground.tree()
    assert git(ground.root, "show", f"nexus/{ground.run_id}/2-1-half-merged:other") == "of the other task"
