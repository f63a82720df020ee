"""Twenty runs are kept: older ones go by themselves when they are finished, merged and have no worktree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.run import control
from nexus_mcp.run import events as ev
from nexus_mcp.run.cleaning import KEPT, drop_old_runs
from nexus_mcp.run.run_folder import HEADER, EventLog, run_folder, write_json
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.run_files import run_ids
from tests.run.runs import Ground, git

OLD = "run-2026-01-01T00-00-00-000Z"


def add_run(state: Folder, ground: Ground, name: str, status: ev.RunStatus | None = "completed") -> None:
    """Make a run that ended so; None: it has no end."""
    with run_folder(state, name, create=True) as folder:
        assert folder is not None
        write_json(folder, HEADER, {"id": name, "config": {"worktrees": str(ground.worktrees)}})
        with EventLog(folder) as log:
            log.append(ev.RunStarted(run=name, pid=1, host="h", base="b"))
            if status is not None:
                log.append(ev.RunEnded(status=status))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A repository with as many finished runs as are kept, all newer than OLD."""
    made = Ground(tmp_path, [{"id": 1, "title": "One"}], {})
    with Folder.root(str(made.root / ".nexus/state")) as state:
        for number in range(KEPT):
            add_run(state, made, f"run-2026-02-01T00-00-{number:02}-000Z")
    return made


def dropped(ground: Ground, prepare: Callable[[Folder], object]) -> list[str]:
    """Return the runs that go when OLD is there as `prepare` makes it."""
    with Folder.root(str(ground.root / ".nexus/state")) as state:
        prepare(state)
        gone = asyncio.run(drop_old_runs(state, str(ground.root), str(ground.worktrees)))
        assert len(run_ids(state)) == KEPT + 1 - len(gone)
    return gone


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_the_oldest_finished_run_makes_room(ground: Ground, status: ev.RunStatus) -> None:
    """A run beyond the newest twenty that is completed or failed goes, the others stay."""
    assert dropped(ground, lambda state: add_run(state, ground, OLD, status)) == [OLD]


@pytest.mark.parametrize("status", [None, "paused", "stalled", "interrupted", "limit"])
def test_a_run_that_goes_on_stays(ground: Ground, status: ev.RunStatus | None) -> None:
    """A run without an end, or one that waits for a person, is never removed by itself."""
    assert dropped(ground, lambda state: add_run(state, ground, OLD, status)) == []


def test_a_run_with_a_request_stays(ground: Ground) -> None:
    """A run that is to be retried stays."""

    def prepare(state: Folder) -> None:
        add_run(state, ground, OLD)
        with run_folder(state, OLD) as folder:
            assert folder is not None
            control.drop(folder, {"command": "retry", "task": 1})

    assert dropped(ground, prepare) == []


def test_unmerged_work_keeps_its_run(ground: Ground) -> None:
    """A run whose integration branch is not in the checked out branch stays, until it is merged."""
    branch = f"nexus/{OLD}/integration"
    git(ground.root, "branch", branch)
    git(ground.root, "checkout", "-q", branch)
    git(ground.root, "commit", "-q", "--allow-empty", "-m", "work")
    git(ground.root, "checkout", "-q", "main")
    assert dropped(ground, lambda state: add_run(state, ground, OLD)) == []
    git(ground.root, "merge", "-q", branch)
    assert dropped(ground, lambda _: None) == [OLD]


def test_a_kept_worktree_keeps_its_run(ground: Ground) -> None:
    """A run with a worktree of an attempt stays; that of the integration branch does not count."""
    (ground.worktrees / OLD / "1-1").mkdir(parents=True)
    assert dropped(ground, lambda state: add_run(state, ground, OLD)) == []
    (ground.worktrees / OLD / "1-1").rename(ground.worktrees / OLD / "integration")
    assert dropped(ground, lambda _: None) == [OLD]


def test_the_end_of_a_run_makes_room(tmp_path: Path) -> None:
    """`nexus-mcp run` removes the oldest finished run at its end, and says so."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})
    with Folder.root(str(ground.root / ".nexus/state")) as state:
        for number in range(KEPT):
            add_run(state, ground, f"run-2026-01-01T00-00-{number:02}-000Z")
    ground.configure()
    code, out, err = ground.cli("--trust", "--merge", "never")
    assert (code, err) == (0, "")
    assert f"Removed, because finished and merged: {OLD}." in out
    assert not (ground.root / ".nexus/state/runs" / OLD).exists()
