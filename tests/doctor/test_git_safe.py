"""Git is asked so that it runs nothing that a repository names, ends in time, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

import pytest

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


def test_variables_of_git_lead_nowhere_else(used: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor looks at the repository around the project, whatever a hook's environment says."""
    commit(used, ".nexus/state/lock")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, os.devnull)
    assert only(used.root).code == "tracked"
