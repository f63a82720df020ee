"""What a session leaves in its worktree and in git's folder of it: nothing hangs, and no work is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
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


@pytest.mark.parametrize("name", [".gitignore", "folder/.gitattributes"])
def test_a_pipe_that_git_waits_for_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """git opens it and waits for a writer; the task is paused, and its work stays in its worktree."""
    monkeypatch.setattr(run_git, "SLOW_S", 0.5)
    ground = left(tmp_path, f"mkdir folder; touch folder/x; mkfifo {name}")
    state = ground.run()
    assert state.task(1).state == "paused"
    assert f"{name} is no plain file" in state.task(1).reason
    assert (ground.worktrees / ground.run_id / "1-1" / "f1").exists()


def test_a_git_that_only_takes_long_is_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe beside it is no reason while no process waits for it: a machine under load is slow."""
    monkeypatch.setattr(run_git, "SLOW_S", 0.05)
    ended = tmp_path / "ended"
    os.mkfifo(tmp_path / ".gitignore")
    looks: list[bool] = []

    def look(group: int, pipe: str) -> bool:
        looks.append(found := end_reader(group, pipe))
        ended.touch()
        return found

    end_reader = run_git._end_reader
    monkeypatch.setattr(run_git, "_end_reader", look)
    slow = f"alias.slow=!until test -e {ended}; do :; done; echo done"
    assert asyncio.run(run_git.Git(str(tmp_path)).out("-c", slow, "slow")) == "done"
    assert looks[0] is False


def test_a_reader_of_a_pipe_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check opens the pipe to write, and closes it after the signal: the reader never sees the end of the file."""
    pipe = tmp_path / ".gitignore"
    ends: list[bytes | None] = []
    os.mkfifo(pipe)
    kill = os.killpg

    def look_and_kill(group: int, number: int) -> None:
        file = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            ends.append(os.read(file, 1))
        except BlockingIOError:  # the pipe has a writer
            ends.append(None)
        os.close(file)
        kill(group, number)

    monkeypatch.setattr(os, "killpg", look_and_kill)
    with subprocess.Popen(["cat", pipe], start_new_session=True) as reader:
        while not run_git._end_reader(reader.pid, str(pipe)):
            assert reader.poll() is None
    assert reader.returncode == -signal.SIGKILL
    assert ends == [None]


def test_git_that_waits_forever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever git waits for, after the timeout the task is paused."""
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


HIDDEN = {
    "assumed to be unchanged": "git update-index --assume-unchanged README.md; echo new > README.md",
    "skipped": "echo new > README.md; git update-index --skip-worktree README.md",
}


@pytest.mark.parametrize("how", HIDDEN, ids=str)
def test_a_change_that_git_does_not_see_is_committed(tmp_path: Path, how: str) -> None:
    """A flag of the index hides it; otherwise the checks would judge it, and the worktree would be removed with it."""
    ground = left(tmp_path, HIDDEN[how])
    assert ground.run().task(1).state == "completed"
    assert ground.tree()["README.md"] == "new"


@pytest.mark.parametrize("head", ["--detach", "nexus/$NEXUS_RUN/integration"])
def test_work_on_another_head_is_on_the_branch_of_the_attempt(tmp_path: Path, head: str) -> None:
    """The session committed elsewhere; no other branch moves, and the branch of the attempt has the work."""
    ground = left(tmp_path, f"git checkout -q {head}; git add f1; true")
    base = git(ground.root, "rev-parse", "HEAD")
    state = ground.run(checks={"test": "false"}, mend=0, tiers=[{"tier": "standard", "attempts": 1}])
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:f1") == "1"
    assert git(ground.root, "rev-parse", f"nexus/{ground.run_id}/integration") == base
    assert state.task(1).attempts[0].files == ("f1",)


def test_commits_that_a_session_left_stay_on_a_branch(tmp_path: Path) -> None:
    """The session checked out the parent of its own commit: the commit is no longer part of the work, but is kept."""
    ground = left(tmp_path, "git add f1; git commit -q -m one; git checkout -q --detach HEAD~1; echo 2 > f2")
    assert ground.run().task(1).state == "completed"
    beside = git(ground.root, "for-each-ref", "--format=%(refname)", f"refs/heads/nexus/{ground.run_id}/1-1-left-*")
    assert git(ground.root, "show", f"{beside}:f1") == "1"
    assert set(ground.tree()) == {"README.md", "f2"}


def test_the_lock_of_a_session_that_died_is_removed(tmp_path: Path) -> None:
    """A git command of the session was killed, and left its lock; its work is committed all the same."""
    ground = left(tmp_path, f"touch {OWN}/index.lock")
    assert ground.run().task(1).state == "completed"
    assert ground.tree()["f1"] == "1"


INNER = {
    "without a commit": "git init -q inner; echo x > inner/file",
    "with a commit": "git init -q inner; echo x > inner/file; cd inner; git add .; git commit -q -m x",
    "committed by the session, and removed": "git init -q inner; echo x > inner/file; cd inner; git add .; "
    "git commit -q -m x; cd ..; git add inner 2> /dev/null; git commit -q -m x",
    "committed by the session": "git init -q inner; cd inner; git commit -q --allow-empty -m x; cd ..; "
    "git add inner 2> /dev/null; git commit -q -m x; echo x > inner/file; git -C inner add file",
}


@pytest.mark.parametrize("how", INNER, ids=str)
def test_a_repository_in_the_worktree_is_not_lost(tmp_path: Path, how: str) -> None:
    """git would commit its name without its files. The session has to mend that."""
    mend: list[Json] = [{"run": "rm -rf inner/.git; git rm -q --cached -f --ignore-unmatch inner"}]
    ground = left(tmp_path, f"export GIT_AUTHOR_NAME=a; {INNER[how]}", mend)
    state = ground.run()
    assert "a git repository of its own" in state.task(1).attempts[0].attempt.mends[0].reason or "submodule" in (
        state.task(1).attempts[0].attempt.mends[0].reason
    )
    assert state.task(1).state == "completed"
    assert ground.tree()["inner/file"] == "x"


def test_files_of_a_repository_that_was_one_are_committed(tmp_path: Path) -> None:
    """The session committed its name, and then removed its folder .git: git would never look below the name again."""
    how = "git init -q inner; cd inner; git commit -q --allow-empty -m x; cd ..; git add inner 2> /dev/null"
    command = f"{how}; git commit -q -m x; rm -rf inner/.git; echo x > inner/file"
    assert (ground := left(tmp_path, f"export GIT_AUTHOR_NAME=a; {command}")).run().task(1).state == "completed"
    assert ground.tree()["inner/file"] == "x"


@pytest.mark.parametrize("setting", ["diff.submodule=log", "diff.ignoreSubmodules=all"])
def test_a_clone_that_a_session_committed_is_seen(tmp_path: Path, setting: str) -> None:
    """Its remote has its commits, but nobody who clones the project could find them. Settings of git hide nothing."""
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q", "-b", "main")
    (upstream / "file").write_text("x\n")
    git(upstream, "add", "file")
    git(upstream, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one")
    clone = f"git clone -q {upstream} inner; git add inner 2> /dev/null; git commit -q -m link"
    ground = left(tmp_path, clone, [{"run": "rm -rf inner/.git"}])
    git(ground.root, "config", *setting.split("="))
    state = ground.run()
    assert "a git repository of its own" in state.task(1).attempts[0].attempt.mends[0].reason
    assert state.task(1).state == "completed"
    assert ground.tree()["inner/file"] == "x"


def test_files_in_the_place_of_a_submodule_are_not_lost(tmp_path: Path) -> None:
    """In a worktree the folder of a submodule is empty, and git ignores files that a session writes there."""
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q", "-b", "main")
    git(upstream, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one")
    ground = left(tmp_path, "echo x > lib/file", [{"run": "mv lib/file f2"}])
    git(ground.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(upstream), "lib")
    git(ground.root, "commit", "-q", "-m", "lib")
    state = ground.run()
    assert "submodule without its repository" in state.task(1).attempts[0].attempt.mends[0].reason
    assert state.task(1).state == "completed"
    assert git(ground.root, "show", f"nexus/{ground.run_id}/integration:f2") == "x"


def test_clean_keeps_a_worktree_with_a_repository_in_it(tmp_path: Path) -> None:
    """Its files are nowhere else: the run stays, and the message names the folder."""
    ground = left(tmp_path, INNER["with a commit"])
    ground.configure(mend=0, tiers=[{"tier": "standard", "attempts": 1}])
    assert ground.cli("--trust")[0] == 1
    code, _, err = ground.cli("clean", ground.run_id)
    assert (code, "inner" in err) == (1, True)
    assert (ground.worktrees / ground.run_id / "1-1" / "inner" / "file").exists()


def test_commits_of_a_submodule_are_not_lost(tmp_path: Path) -> None:
    """A commit that only the worktree has is refused; one that its remote has is merged."""
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q", "-b", "main")
    user = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(upstream, *user, "commit", "-q", "--allow-empty", "-m", "one")
    local = "-c protocol.file.allow=always"
    commit = f"cd lib; git {' '.join(user)} commit -q --allow-empty -m two; git rev-parse HEAD > ../f2"
    push: list[Json] = [{"run": "git -C lib push -q origin HEAD:refs/heads/two; git -C lib fetch -q"}]
    ground = left(tmp_path, commit, push)
    git(ground.root, *local.split(), "submodule", "--quiet", "add", str(upstream), "lib")
    git(ground.root, "commit", "-q", "-m", "lib")
    state = ground.run(setup=[f"git {local} submodule --quiet update --init"])
    assert "submodule" in state.task(1).attempts[0].attempt.mends[0].reason
    assert state.task(1).state == "completed"
    integration = f"nexus/{ground.run_id}/integration"
    assert git(ground.root, "rev-parse", f"{integration}:lib") == git(ground.root, "show", f"{integration}:f2")


@pytest.mark.parametrize("flag", ["ignored", "assumed to be unchanged"])
def test_a_hook_that_git_hides_does_not_run(tmp_path: Path, flag: str) -> None:
    """A session wrote the hook to a path that git ignores, or changed the tracked hook and hid the change."""
    mark = tmp_path / "ran"
    folder = ".husky/_" if flag == "ignored" else "hooks"
    hide = "true" if flag == "ignored" else f"git update-index --assume-unchanged {folder}/pre-commit"
    write = f"mkdir -p {folder}; {hide}; printf '#!/bin/sh\\ntouch {mark}\\n' > {folder}/pre-commit"
    files = {".gitignore": ".husky/_\n", "hooks/pre-commit": "#!/bin/sh\n"}
    ground = left(tmp_path, f"{write}; chmod +x {folder}/pre-commit", files=files)
    git(ground.root, "config", "core.hooksPath", folder)
    assert ground.run().task(1).state == "completed"
    assert not mark.exists()


def test_a_generated_hook_that_the_checkout_has_runs(tmp_path: Path) -> None:
    """Setup, such as that of husky, makes in each worktree the hooks that the user's checkout has."""
    make = f"mkdir -p .husky/_; printf '#!/bin/sh\\ntouch {tmp_path}/ran\\n' > .husky/_/pre-commit; chmod +x .husky/_/*"
    ground = left(tmp_path, "true", files={".gitignore": ".husky/_\n"})
    git(ground.root, "config", "core.hooksPath", ".husky/_")
    (ground.root / ".husky/_").mkdir(parents=True)
    (ground.root / ".husky/_/pre-commit").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    assert ground.run(setup=[make]).task(1).state == "completed"
    assert (tmp_path / "ran").exists()
