"""With `sandbox: bwrap` everything that a session may have written runs in the sandbox: setup, checks and hooks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nexus_mcp.run import sandbox
from nexus_mcp.run.config import RunConfig
from tests.run.runs import Ground, git
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
WORK: list[Json] = [{"write": "f1", "text": "1\n"}]
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def evil(ground_root: Path) -> str:
    """Return a script that changes the user's checkout, its configuration and a branch, and ends well."""
    return (
        f"echo evil > {ground_root}/README.md; git -C {ground_root} config user.name Evil; "
        f"git -C {ground_root} branch evil; : > ran; true\n"
    )


def assert_untouched(ground: Ground) -> None:
    assert (ground.root / "README.md").read_text() == "x\n"
    assert git(ground.root, "config", "user.name") == "A"
    assert git(ground.root, "branch", "--list", "evil") == ""


@needs_bwrap
@pytest.mark.parametrize("regression", ["each", "end"])
def test_a_check_that_a_session_wrote_cannot_reach_the_checkout(tmp_path: Path, regression: str) -> None:
    """It runs in the worktree of the attempt, and after the merge in that of the integration branch."""
    script = {"1": [[{"write": "check.sh", "text": evil(tmp_path / "project")}, *WORK]]}
    ground = Ground(tmp_path, ONE, script, files={"check.sh": "true\n", ".gitignore": "ran\n"})
    ground.configure(sandbox="bwrap", checks={"test": "sh check.sh"}, regression=regression)
    code, out, err = ground.cli("--trust", "--merge", "never")
    assert code == 0, out + err
    assert_untouched(ground)
    assert ground.tree()["f1"] == "1"
    assert (ground.worktrees / ground.run_id / "integration" / "ran").exists()


@needs_bwrap
def test_setup_that_a_session_wrote_cannot_reach_the_checkout(tmp_path: Path) -> None:
    """The second attempt begins with the files of the first one, and its setup runs them."""
    script = {"1": [[{"write": "setup.sh", "text": evil(tmp_path / "project")}, {"exit": 1}], WORK]}
    ground = Ground(tmp_path, ONE, script, files={"setup.sh": "true\n", ".gitignore": "ran\n"})
    state = ground.run(sandbox="bwrap", setup=["sh setup.sh"], mend=0)
    assert state.task(1).attempts[0].commit
    assert state.task(1).state == "completed"
    assert len(state.task(1).attempts) == 2
    assert_untouched(ground)


@needs_bwrap
def test_a_commit_hook_runs_in_the_sandbox_and_commits(tmp_path: Path) -> None:
    """The hook of the user calls a file that the session wrote; the commit reaches the branch of the attempt."""
    script = {"1": [[{"write": "lint.sh", "text": evil(tmp_path / "project")}, *WORK]]}
    ground = Ground(tmp_path, ONE, script, files={"lint.sh": "true\n", ".gitignore": "ran\n"})
    hook = ground.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsh lint.sh\necho hooked >> f1\ngit add f1\n")
    hook.chmod(0o755)
    state = ground.run(sandbox="bwrap")
    assert (state.task(1).state, state.task(1).reason) == ("completed", "")
    assert_untouched(ground)
    assert ground.tree()["f1"] == "1\nhooked"


@needs_bwrap
def test_the_precheck_runs_checks_in_the_sandbox(tmp_path: Path) -> None:
    """The checks are those of HEAD, which has the work of earlier runs."""
    ground = Ground(tmp_path, ONE, {"1": [WORK]}, files={"check.sh": evil(tmp_path / "project")})
    ground.configure(sandbox="bwrap", checks={"test": "sh check.sh"})
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    assert "check test: passes" in ground.cli("precheck", "--checks")[1]
    assert_untouched(ground)


def test_a_sandbox_that_cannot_be_made_is_a_blocker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In many containers bubblewrap is installed and may not do anything: no session is used up to find out."""
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent), prepend=":")
    assert "No permissions" in sandbox.problem(RunConfig.model_validate({"sandbox": "bwrap"}))


def test_a_hook_that_the_run_changed_does_not_run_at_the_merge(tmp_path: Path) -> None:
    """It would run in the user's checkout, without a sandbox, before a person read it."""
    mark = tmp_path / "ran"
    text = f"#!/bin/sh\ntouch {mark}\n"
    script = {"1": [[{"write": "hooks/post-merge", "text": text}, {"run": "chmod +x hooks/post-merge"}, *WORK]]}
    ground = Ground(tmp_path, ONE, script, files={"hooks/README": "h\n"})
    git(ground.root, "config", "core.hooksPath", "hooks")
    ground.configure()
    assert ground.cli("--trust", "--merge", "auto")[0] == 0
    assert (ground.root / "f1").exists()
    assert not mark.exists()
