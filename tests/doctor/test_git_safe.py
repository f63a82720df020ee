"""The git queries run no program of the repository, end in time, and leave nothing behind."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.doctor import git as asking
from nexus_mcp.doctor.examine import examine
from nexus_mcp.errors import UsageError
from nexus_mcp.merging import repository
from nexus_mcp.merging.repository import Repository
from tests.conftest import git
from tests.doctor.support import codes, commit, only
from tests.support import Project


def test_nothing_of_the_repository_is_run(used: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No monitor, hook, pager or alias that a repository names is started, and no variable of git is heard."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(trap.stat().st_mode | stat.S_IXUSR)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "alias.ls-files", "diff.external", "core.sshCommand"):
        git(used.root, "config", key, str(trap))
    (used.root / ".git" / "hooks").mkdir(exist_ok=True)
    (used.root / ".git" / "hooks" / "post-index-change").symlink_to(trap)
    monkeypatch.setenv("GIT_TRACE_SETUP", f"{tmp_path}/traced")
    monkeypatch.setenv("GIT_PAGER", str(trap))
    commit(used, ".nexus/state/lock")
    (tmp_path / "sprung").unlink(missing_ok=True)
    (tmp_path / "traced").unlink(missing_ok=True)
    assert only(used.root).code == "tracked"
    assert not (tmp_path / "sprung").exists()
    assert not (tmp_path / "traced").exists()


def test_a_missing_object_is_not_fetched(used: Project, tmp_path: Path) -> None:
    """Of a partial clone that lacks its attributes nothing is fetched through the program that it names for that."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(used.root, "init", "-q", "--bare", str(tmp_path / "other"))
    (used.root / ".gitattributes").write_text("*.x merge=y\n")
    commit(used, ".gitattributes", ".nexus/.gitignore", ".nexus/history.json")
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tmp_path / "other"),
        "remote.origin.uploadpack": str(trap),
    }.items():
        git(used.root, "config", key, value)
    (used.root / ".gitattributes").unlink()
    lost = hashlib.sha1(b"blob 12\0*.x merge=y\n", usedforsecurity=False).hexdigest()
    (used.root / ".git/objects" / lost[:2] / lost[2:]).unlink()
    assert codes(used.root) == ["no-merge-driver"]
    Repository.around(str(used.root)).attribute("merge", ".nexus/history.json")
    assert not (tmp_path / "sprung").exists()
    # So it was armed.
    subprocess.run(["git", "check-attr", "merge", "x"], cwd=used.root, capture_output=True, check=False)
    assert (tmp_path / "sprung").exists()


def test_git_variables_are_ignored(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor checks the repository around the project, whatever git variables a hook's environment has."""
    commit(used, ".nexus/state/lock")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, os.devnull)
    assert only(used.root).code == "tracked"


def hanging(used: Project, monkeypatch: pytest.MonkeyPatch, question: str) -> Path:
    """Put a git before the real one that never answers `question`; the FIFO that it has open as long as it lives."""
    fake = used.root.parent / "bin" / "git"
    fake.parent.mkdir()
    real, fifo = shutil.which("git"), used.root.parent / "alive"
    os.mkfifo(fifo)
    text = f'case "$*" in *{question}*) exec 3<>{fifo}; /bin/sleep 1000;; *) exec {real} "$@";; esac'
    fake.write_text(f"#!/bin/sh\n{text}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    return fifo


def is_held(fifo: Path) -> bool:
    """Whether some process reads the FIFO."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def gone(fifo: Path) -> None:
    """Wait until no process reads the FIFO: a killed process takes a moment to end."""
    while is_held(fifo):
        os.sched_yield()


def test_git_has_one_time_limit_for_a_run(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """After git's time limit doctor does not call git again in this run; earlier results still count."""
    commit(used, ".nexus/state/lock")
    asked = []
    run = asking._run

    def counted(git: str, until: float, root: str, *words: str) -> tuple[int, bytes]:
        asked.append(words[0])
        return run(git, until, root, *words)

    questions = asking.Queries(str(used.root))
    before = questions.run()
    assert before.tracked == (".nexus/state/lock",)
    fifo = hanging(used, monkeypatch, "rev-parse")
    monkeypatch.setattr(asking, "TIMEOUT_S", 0.05)
    monkeypatch.setattr(asking, "_run", counted)
    questions._left = asking.TIMEOUT_S
    assert [questions.run() for _ in range(3)] == [before] * 3
    late = asking.Queries(str(used.root))
    assert {late.run().reason for _ in range(3)} == {"git did not answer in 0.05 seconds"}
    assert asked == ["rev-parse"] * 2
    gone(fifo)


def test_interrupt_ends_git_and_its_children(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while git hangs also ends git and its children."""
    fifo = hanging(used, monkeypatch, "ls-files")

    class Interrupted(io.BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            while not is_held(fifo):
                os.sched_yield()
            raise KeyboardInterrupt

    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process = popen(words, **options)
        if "ls-files" in words:
            assert process.stdout is not None
            process.stdout.close()
            process.stdout = Interrupted()
            started.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt):
        examine(str(used.root), 0.0)
    (process,) = started
    assert process.returncode == -signal.SIGKILL
    gone(fifo)


def test_a_git_that_hangs_registers_nothing(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where git does not end, registering the merge driver ends with an error that names the question."""
    os.mkfifo(used.root / ".git" / "info" / "attributes")
    monkeypatch.setattr(repository, "SECONDS", 0.05)
    with pytest.raises(UsageError, match=r"git did not answer in 0.05 seconds \(git check-attr in "):
        Repository.around(str(used.root)).attribute("merge", ".nexus/history.json")
