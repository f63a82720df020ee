"""Worktrees of a run are used again, and no attempt sees what another one left; where that is in doubt, one is made."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run import pool
from nexus_mcp.run.git import Git
from nexus_mcp.run.setup import Run
from tests.run.runs import Ground, git
from tests.support import Json

TWO: list[Json] = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two", "deps": [1]}]
# Which worktree it is, by the name that its folder of git keeps; and everything that is in it.
LOOK = (
    "basename $(git rev-parse --absolute-git-dir) > which-$NEXUS_TASK; "
    "{ git status --porcelain --ignored --untracked-files=all; cat README.md; "
    "ls $(git rev-parse --absolute-git-dir) | grep -v nexus-; } > seen-$NEXUS_TASK"
)
IGNORED = {".gitignore": "*.log\n"}


def two(tmp_path: Path, first: list[Json]) -> Ground:
    """Return a run of two tasks with one job, whose first session does `first` after a look around."""
    script = {"1": [[{"run": LOOK}, *first]], "2": [[{"run": LOOK}]]}
    return Ground(tmp_path, TWO, script, files=IGNORED)


def names(ground: Ground) -> list[str]:
    return [ground.tree()[f"which-{number}"] for number in (1, 2)]


def test_a_worktree_is_used_again(tmp_path: Path) -> None:
    """The second attempt has the worktree of the first one, at the merged commit; after the run it is gone."""
    ground = two(tmp_path, [])
    assert ground.run().task(2).state == "completed"
    assert len(set(names(ground))) == 1
    assert git(ground.root, "worktree", "list").count("\n") == 1  # the checkout, and that of the integration
    assert [path.name for path in (ground.worktrees / ground.run_id).iterdir()] == ["integration"]


DIRTY = {
    "files": "touch left.log; mkdir -p a/b .cache; touch a/b/c .cache/x; mkfifo pipe",
    "a repository in it": "git init -q inner && touch inner/file",
    "hidden changes": "echo evil > README.md; git update-index --assume-unchanged README.md; git add -f pipe",
    "a deleted file and a folder in its place": "rm README.md && mkdir README.md && touch README.md/x",
    "hidden by another index": "echo evil > README.md; git update-index --skip-worktree README.md",
    "reflogs and heads": "git commit -q --allow-empty -m x; git fetch -q . HEAD; git reset -q --soft HEAD",
}


@pytest.mark.parametrize("left", DIRTY, ids=str)
def test_an_attempt_sees_nothing_of_the_one_before(tmp_path: Path, left: str) -> None:
    """Whatever a check of the first attempt leaves after its work was committed; the check is part of the attempt."""
    ground = two(tmp_path, [])
    state = ground.run(checks={"test": f"test $NEXUS_TASK != 1 || {{ {DIRTY[left]}; }}; true"})
    assert state.task(2).state == "completed"
    clean = two(tmp_path / "clean", [])
    clean.run()
    assert ground.tree()["seen-2"] == clean.tree()["seen-2"]


KEPT_OUT = {
    "a process in it": "setsid sleep 300 < /dev/null > /dev/null 2>&1 & sleep 0.1",
    "a process for it": "cd / && setsid sleep 300 < /dev/null > /dev/null 2>&1 & sleep 0.1",
    "a file in its folder of git": "touch $(git rev-parse --absolute-git-dir)/config.worktree",
    "a ref of its own": "git update-ref refs/worktree/mine HEAD",
    "a changed link": 'echo "gitdir: $(git rev-parse --absolute-git-dir)/." > .git.new; mv .git.new .git',
    "another index of the executor": "echo x >> $(git rev-parse --absolute-git-dir)/nexus-index",
    "a link to elsewhere": "ln -s /etc/hostname $(git rev-parse --absolute-git-dir)/gitdir.nexus",
    "a detached head": "git checkout -q --detach",
    "a lock": "git worktree lock .",
}


@pytest.mark.parametrize("left", KEPT_OUT, ids=str)
def test_a_worktree_in_doubt_is_not_used_again(tmp_path: Path, left: str) -> None:
    """Each is left by a check of the first attempt; the second one gets a new worktree, and the run goes on."""
    ground = two(tmp_path, [])
    try:
        check = f"test $NEXUS_TASK != 1 || {{ {KEPT_OUT[left]}; }}; true"
        state = ground.run(checks={"test": check}, regression="none")
    finally:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("NEXUS_RUN") == ground.run_id:
                    process.kill()
    assert state.task(2).state == "completed"
    assert len(set(names(ground))) == 2


def test_a_worktree_with_kept_work_is_not_used_again(tmp_path: Path) -> None:
    """A failed attempt keeps its worktree, and its work is on its branch."""
    tasks: list[Json] = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
    script = {"1": [[{"run": LOOK}, {"append": "broken", "text": "b"}]], "2": [[{"run": LOOK}]]}
    ground = Ground(tmp_path, tasks, script, files=IGNORED)
    state = ground.run(mend=0, tiers=[{"tier": "standard", "attempts": 1}])
    assert (state.task(1).state, state.task(2).state) == ("failed", "completed")
    assert (ground.worktrees / ground.run_id / "1-1" / "broken").exists()
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:broken") == "b"
    first = git(ground.root, "show", f"nexus/{ground.run_id}/1-1:which-1")
    assert ground.tree()["which-2"] != first


def test_many_attempts_at_once_get_a_worktree_each(tmp_path: Path) -> None:
    """git fails over a worktree that is half made, so they are made one after the other."""
    tasks: list[Json] = [{"id": number, "title": f"Task {number}"} for number in range(1, 13)]
    ground = Ground(tmp_path, tasks, {"*": [[{"run": "pwd > new-$NEXUS_TASK"}]]})
    state = ground.run(jobs=6)
    assert {task.state for task in state.tasks.values()} == {"completed"}
    assert len({ground.tree()[f"new-{number}"] for number in range(1, 13)}) == 12


def test_git_never_prunes_while_a_worktree_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worktree gets its new path in git's file first and on disk then; a prune between would remove it from git."""
    move, run_git, steps = pool._move, Git.run, list[str]()

    def moved(found: Any, path: str) -> None:
        assert runs[0].repository.in_place.locked()
        steps.append("move")
        move(found, path)

    async def ran(self: Git, *words: str, **more: Any) -> Any:
        if words == ("worktree", "prune"):
            assert runs[0].repository.in_place.locked()
            steps.append("prune")
        return await run_git(self, *words, **more)

    monkeypatch.setattr(pool, "_move", moved)
    monkeypatch.setattr(Git, "run", ran)
    runs: list[Run] = []
    tasks: list[Json] = [{"id": 1, "title": "T"}, *[{"id": id_, "title": "T", "deps": [1]} for id_ in (2, 3, 4)]]
    ground = Ground(tmp_path, tasks, {"*": [[{"run": "echo x > f$NEXUS_TASK"}]]})
    state = ground.run(before=runs.append, jobs=3)
    assert {task.state for task in state.tasks.values()} == {"completed"}
    assert {"move", "prune"} == set(steps)


@pytest.mark.parametrize("tidying", ["git pack-refs --all", "git gc --quiet"])
def test_rewritten_files_of_git_are_no_change_of_the_checkout(tmp_path: Path, tidying: str) -> None:
    """Packed refs and an index with other times say the same; a commit of an agent may start `git gc`."""
    top = "cd $(git rev-parse --path-format=absolute --git-common-dir)/.."
    again = f"{top} && touch README.md && git status && {tidying}"
    ground = two(tmp_path, [{"run": again}])
    git(ground.root, "tag", "mine")
    assert ground.run().task(2).state == "completed"
    assert not [event for event in ground.log() if isinstance(event, ev.Guard)]


def test_settings_of_worktrees_switch_the_pool_off(tmp_path: Path) -> None:
    """With a configuration of their own, worktrees are made and removed as before."""
    ground = two(tmp_path, [])
    git(ground.root, "config", "extensions.worktreeConfig", "true")
    assert ground.run().task(2).state == "completed"
    assert names(ground) == ["1-1", "2-1"]


def test_without_merges_of_trees_a_worktree_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git before 2.38 merges in the integration worktree, with the same result."""
    monkeypatch.setattr("nexus_mcp.run.worktrees._VERSION", [(2, 30)])
    mend = [{"run": "grep -q '<<<<' a && printf 'one\ntwo\n' > a"}]
    script = {"1": [[{"write": "a", "text": "one\n"}], mend], "2": [[{"write": "a", "text": "two\n"}], mend]}
    tasks: list[Json] = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
    ground = Ground(tmp_path, tasks, script, files={"a": "zero\n"})
    state = ground.run(jobs=2)
    assert [state.task(number).state for number in (1, 2)] == ["completed", "completed"]
    assert [event.files for event in ground.log() if event.type == "conflict"] == [["a"]]
