"""What a session leaves in its worktree and in git's folder of it: nothing hangs, and no work is lost."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from nexus_mcp.run import git as run_git
from nexus_mcp.run.git import Git, GitFailed
from tests.run.runs import Ground, git
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
TWO: list[Json] = [*ONE, {"id": 2, "title": "Two", "deps": [1]}]
WORK: list[Json] = [{"write": "f1", "text": "1\n"}]
OWN = "$(git rev-parse --absolute-git-dir)"


def left(tmp_path: Path, command: str, *more: list[Json], files: dict[str, str] | None = None) -> Ground:
    """Return a run whose only session leaves what `command` makes, after its work."""
    return Ground(tmp_path, ONE, {"1": [[*WORK, {"run": command}], *more]}, files=files)


def test_a_filter_that_prints_is_no_fault(tmp_path: Path) -> None:
    """A filter such as that of Git LFS reports its downloads on stderr while git writes the worktree."""
    files = {"a.bin": "A\n", ".gitattributes": "*.bin filter=noisy\n"}
    ground = Ground(tmp_path, TWO, {"*": [[{"run": "cp a.bin copy-$NEXUS_TASK"}]]}, files=files)
    git(ground.root, "config", "filter.noisy.smudge", "sh -c 'echo Downloading >&2; cat'")
    assert ground.run().task(2).state == "completed"
    assert ground.tree()["copy-2"] == "A"


@pytest.mark.parametrize("place", [f"{OWN}/nexus-lease", ".git"])
def test_a_pipe_in_place_of_a_file_of_git_is_not_read(tmp_path: Path, place: str) -> None:
    """To open it would never return: the task is paused, and its files stay in the worktree."""
    ground = left(tmp_path, f"place={place}; rm -f $place; mkfifo $place")
    state = ground.run()
    assert state.task(1).state == "paused"
    assert (ground.worktrees / ground.run_id / "1-1" / "f1").exists()


def test_git_that_waits_forever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git opens a pipe named .gitignore and waits for a writer; after its time the task is paused."""
    monkeypatch.setattr(run_git, "LIMIT_S", 2.0)
    state = left(tmp_path, "mkfifo .gitignore").run()
    assert state.task(1).state == "paused"
    assert "did not end" in state.task(1).reason


def test_ctrl_c_does_not_reach_git(tmp_path: Path) -> None:
    """The terminal sends it to the whole process group, so git and the hooks have another one than the executor."""
    ground = left(tmp_path, "true")
    (ground.root / ".git/hooks").mkdir(exist_ok=True)
    hook = ground.root / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nps -o pgid= -p $$ > {tmp_path}/group\n")
    hook.chmod(0o755)
    assert ground.run().task(1).state == "completed"
    assert int((tmp_path / "group").read_text()) != os.getpgrp()


def test_a_cancelled_git_leaves_no_process(tmp_path: Path) -> None:
    """The hooks and filters that git started end with it."""
    words = ("-c", f"alias.wait=!echo $$ > {tmp_path}/pid; sleep 300; true", "wait")

    async def cancelled() -> None:
        running = asyncio.create_task(Git(str(tmp_path)).run(*words))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            await asyncio.sleep(0.01)
        running.cancel()
        with suppress(asyncio.CancelledError, GitFailed):
            await running

    asyncio.run(cancelled())
    with suppress(psutil.NoSuchProcess):
        shell = psutil.Process(int((tmp_path / "pid").read_text()))
        psutil.wait_procs([shell], timeout=10)
        assert not shell.is_running() or shell.status() == psutil.STATUS_ZOMBIE
