"""Requests to a run at odd moments: nothing merged is undone, and no work of an ended attempt is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.run import control
from nexus_mcp.run.final_merge import fast_forward, readiness
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.setup import Run
from nexus_mcp.run.worktrees import Repository
from nexus_mcp.store.folder import Folder
from tests.run.runs import Ground, git
from tests.support import Json

TWO: list[Json] = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two", "deps": [1]}]
ONCE = {"tiers": [{"tier": "standard", "attempts": 1}]}


def half_done(tmp_path: Path) -> Ground:
    """Return a run whose first task is merged, and whose second one failed."""
    ground = Ground(tmp_path, TWO, {"1": [[{"write": "f1", "text": "1"}]], "2": [[{"exit": 1}]]})
    ground.configure(**ONCE)
    assert ground.cli("--trust")[0] == 1
    return ground


@pytest.mark.parametrize("request_", ["skip", "retry"])
def test_a_completed_task_is_past_requests(tmp_path: Path, request_: str) -> None:
    """Its work is merged: a task that is skipped now would be pending for ever, and block what depends on it."""
    ground = half_done(tmp_path)
    code, _, err = ground.cli(request_, "1")
    assert (code, "Task 1 is completed" in err) == (2, True)
    assert ground.statuses() == ["completed", "pending"]


def test_a_late_skip_does_not_undo_a_merge(tmp_path: Path) -> None:
    """The request arrived after the task was merged."""
    ground = Ground(tmp_path, TWO[:1], {"1": [[{"write": "f1", "text": "1"}]]})
    ground.run()
    state = ground.run(before=lambda run: control.drop(run.folder, {"command": "skip", "task": 1}))
    assert (state.task(1).state, ground.statuses()) == ("completed", ["completed"])


def test_a_skip_while_the_branch_moves_waits_for_the_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the branch would have moved without an event, and each later run would take it for forged."""
    ground = Ground(tmp_path, TWO, {"*": [[{"run": "echo x > f$NEXUS_TASK"}]]})
    publish = Repository.publish
    runs: list[Run] = []

    async def slow(self: Repository, old: str, new: str) -> None:
        await publish(self, old, new)
        if runs and not runs[0].state.integration:
            control.drop(runs[0].folder, {"command": "skip", "task": 1})
            while control.has_requests(runs[0].folder):  # until the engine has ended the task
                await asyncio.sleep(0)
                if _is_cancelled():
                    break

    def _is_cancelled() -> bool:
        return any(task.cancelling() for task in asyncio.all_tasks())

    monkeypatch.setattr(Repository, "publish", slow)
    state = ground.run(before=runs.append)
    assert [state.task(1).state, state.task(2).state] == ["completed", "completed"]
    assert git(ground.root, "rev-parse", f"nexus/{ground.run_id}/integration") == state.integration


def test_the_work_of_a_skipped_attempt_is_on_its_branch(tmp_path: Path) -> None:
    """The attempt was at work when a person skipped its task."""
    written = '{"kind": "session", "text": "written"}'
    ground = Ground(tmp_path, TWO[:1], {"1": [[{"write": "f1", "text": "1"}, {"print": written}, {"hang": 600}]]})

    def skip_once_written(run: Run) -> None:
        def look(event: Any) -> None:
            if event.type == "session" and event.id == "written":
                run.listeners.remove(look)
                control.drop(run.folder, {"command": "skip", "task": 1})

        run.listeners.append(look)

    state: RunRecord = ground.run(before=skip_once_written)
    assert state.task(1).state == "skipped"
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:f1") == "1"


def test_a_branch_that_moved_is_not_offered(tmp_path: Path) -> None:
    """The last session moved the integration branch, and failed; the question about the merge never comes."""
    forge = "git update-ref refs/heads/nexus/$NEXUS_RUN/integration $(git commit-tree -m evil HEAD^{tree} -p HEAD)"
    script: dict[str, Json] = {"1": [[{"write": "f1", "text": "1"}]], "2": [[{"run": forge}, {"exit": 1}]]}
    ground = Ground(tmp_path, TWO, script)
    ground.configure(**ONCE)
    base = git(ground.root, "rev-parse", "HEAD")
    code, out, _ = ground.cli("--trust", "--merge", "ask")
    assert (code, "is not where the run left it" in out) == (1, True)
    assert git(ground.root, "rev-parse", "HEAD") == base


def test_a_branch_that_a_session_moved_before_any_merge_is_not_merged(tmp_path: Path) -> None:
    """Nothing of the run was merged, so the integration branch has to be at the base of the run."""
    forge = "git update-ref refs/heads/nexus/$NEXUS_RUN/integration $(git commit-tree -m evil HEAD^{tree} -p HEAD)"
    ground = Ground(tmp_path, TWO, {"1": [[{"run": forge}, {"exit": 1}]]})
    ground.configure(**ONCE)
    head = git(ground.root, "rev-parse", "HEAD")
    ground.cli("--trust", "--merge", "never")
    code, out, err = ground.cli("merge")
    assert (code, "is not where the run left it" in out + err) == (3, True), out + err
    assert git(ground.root, "rev-parse", "HEAD") == head


def test_a_commit_that_came_after_the_comparison_is_not_merged(tmp_path: Path) -> None:
    """A process that an attempt left may move the integration branch while the run asks whether to merge."""
    ground = Ground(tmp_path, TWO[:1], {"1": [[{"write": "f1", "text": "1"}]]})
    ground.configure()
    ground.cli("--trust", "--merge", "never")
    (ground.run_id,) = [path.name for path in (ground.root / ".nexus/state/runs").iterdir()]
    branch = f"nexus/{ground.run_id}/integration"
    verified = git(ground.root, "rev-parse", branch)
    repository = Repository(str(ground.root), ground.run_id, str(ground.worktrees))

    async def merge() -> None:
        assert (await readiness(repository, "main", verified)).commits
        evil = git(ground.root, "commit-tree", "-m", "evil", f"{branch}^{{tree}}", "-p", branch)
        git(ground.root, "update-ref", f"refs/heads/{branch}", evil)
        with Folder.root(str(ground.root / ".nexus/state")) as folder:
            assert await fast_forward(repository, verified, folder) == ""

    asyncio.run(merge())
    assert git(ground.root, "rev-parse", "HEAD") == verified


def test_work_that_failed_the_checks_at_the_end_is_not_merged(tmp_path: Path) -> None:
    """Each task passes alone, both together do not: neither the run nor `run merge` moves the branch."""
    rows = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
    script = {str(number): [[{"write": f"f{number}", "text": "x"}]] for number in (1, 2)}
    ground = Ground(tmp_path, rows, script)
    ground.configure(checks={"test": "test ! -e f1 || test ! -e f2"}, regression="end", jobs=2)
    head = git(ground.root, "rev-parse", "HEAD")
    assert ground.cli("--trust", "--merge", "auto")[0] == 1
    code, out, err = ground.cli("merge")
    assert (code, "test fails on the integration branch" in out + err) == (3, True), out + err
    assert git(ground.root, "rev-parse", "HEAD") == head


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "retry", "task": 1, "tier": "mega"},
        {"command": "retry", "task": 7},
        {"command": "skip", "task": True},
        {"command": "skip", "task": 10**400},
        {"command": "answer", "id": "q1"},
        {"command": ["stop"]},
    ],
)
def test_a_file_that_is_no_request_stops_no_run(tmp_path: Path, request_: Json) -> None:
    """Another program wrote it: the run obeys nothing, removes the file, and does its task."""
    ground = Ground(tmp_path, TWO[:1], {"1": [[{"write": "f1", "text": "1"}]]})

    state = ground.run(before=lambda run: control.drop(run.folder, request_))
    assert (state.task(1).state, 7 in state.tasks) == ("completed", False)
    control_files = ground.root / ".nexus/state/runs" / ground.run_id / "control"
    assert list(control_files.iterdir()) == []
