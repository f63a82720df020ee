"""`nexus-mcp memory gc --apply` and Ctrl-C: during the wait for the lock, and while git runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.cli import main
from nexus_mcp.store import lock
from nexus_mcp.store.lock import join_queue
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.cli.support import COMMAND, LIMIT, environment
from tests.conftest import git
from tests.support import Project
from tests.tags.support import aged
from tests.tags.test_memory_gc import committed, there


@pytest.fixture
def old(real_repository: Project) -> Project:
    """A repository with a note that was not read for a long time."""
    aged(real_repository.put("memory/old.md", "Old.\n"), 200, time.time())
    committed(real_repository)
    return real_repository


@pytest.mark.requirement("memory.commit")
@pytest.mark.parametrize("step", ["commit-tree", "update-ref", "update-index"])
def test_ctrl_c_does_not_stop_a_begun_deletion(old: Project, tmp_path: Path, step: str) -> None:
    """Ctrl-C reaches all processes in the foreground but not git: a begun deletion is completed and reported."""
    programs = tmp_path / "programs"
    programs.mkdir()
    # The process that asks leads its group, as the command of a shell does.
    press = (
        f'case "$*" in *" {step} "*) [ -n "$GIT_INDEX_FILE" ] || {{ kill -s INT -- -$PPID && : > "$PRESSED"; }};; esac'
    )
    (programs / "git").write_text(f'#!/bin/sh\n{press}\nexec {shutil.which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    done = subprocess.run(
        [*COMMAND, "memory", "gc", "--apply"],
        cwd=old.root,
        env=environment({"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PRESSED": str(tmp_path / "pressed")}),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, done.stderr, (tmp_path / "pressed").exists()) == (0, "", True)
    assert done.stdout.splitlines()[1].startswith("  deleted: .nexus/memory/old.md; restore with: git checkout ")
    assert (there(old), git(old.root, "status", "--porcelain")) == ([], "")


@pytest.mark.requirement("memory.refused")
def test_interrupt_ends_the_wait_of_a_clean_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, old: Project
) -> None:
    """Ctrl-C ends the wait for the lock; the message says that nothing was changed."""
    monkeypatch.chdir(old.root)

    def then_queued(fd: int) -> object:
        signal.raise_signal(signal.SIGINT)
        return join_queue(fd)

    with Store(Workspace(str(old.root))).locked_state(), patch.object(lock, "join_queue", then_queued):
        assert main(["memory", "gc", "--apply"]) == 130
    assert capsys.readouterr() == ("", "nexus-mcp: Interrupted; nothing was changed.\n")
    assert there(old) == ["old"]
