"""kill -9 of the executor at events of a run: the run that goes on ends with the same tree, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from nexus_mcp.run.run_folder import run_folder
from nexus_mcp.store.folder import Folder
from tests.run.runs import GOOD, ROOT, Ground

TASKS = [
    {"id": 1, "title": "One", "owner": "engineer"},
    {"id": 2, "title": "Two", "owner": "engineer", "deps": [1]},
    {"id": 3, "title": "Three", "owner": "engineer"},
]
SCRIPT = {
    # Its first session breaks the check, and the one after it mends that.
    "1-engineer": [
        [{"run": "if test -e f1; then rm -f broken; else touch broken; fi"}, {"write": "f1", "text": "1\n"}]
    ],
    "2-engineer": [[{"write": "f2", "text": "2\n"}]],
    "3-engineer": [[{"write": "f3", "text": "3\n"}]],
    "tester": [[{"verdict": GOOD}]],
}
# The run has about 75 events; `make torture` kills it after each of them, and cuts the log at each.
PLACES = range(2, 80) if os.environ.get("NEXUS_LONG") else range(2, 60, 8)


def _left(run: str) -> list[int]:
    """Return the processes of a run that are alive, by the variable that each session gets."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("NEXUS_RUN") == run and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("at", PLACES)
def test_a_killed_run_goes_on_to_the_same_tree(tmp_path: Path, at: int) -> None:
    """Whatever event the kill follows: each task is completed once, with its work, and no process is left."""
    ground = killed(tmp_path, at)
    completes(ground)


@pytest.mark.parametrize("at", PLACES)
def test_a_power_cut_loses_no_more_than_a_kill(tmp_path: Path, at: int) -> None:
    """The last event is torn in the middle, as by a power cut, and the harness is dead, too: the run goes on."""
    ground = killed(tmp_path, at)
    for pid in _left(ground.run_id):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    log = ground.root / ".nexus/state/runs" / ground.run_id / "events.jsonl"
    data = log.read_bytes()
    log.write_bytes(data[: len(data) - len(data.splitlines(keepends=True)[-1]) // 2])
    completes(ground)


def killed(tmp_path: Path, at: int) -> Ground:
    """Return a run whose executor was killed right after the event with this number."""
    ground = Ground(tmp_path, TASKS, SCRIPT)
    ground.run_id = "run-2026-01-01T00-00-00-000Z"
    with Folder.root(str(ground.root / ".nexus/state")) as state, run_folder(state, ground.run_id, create=True):
        pass
    words = [sys.executable, "-m", "tests.run.killed_run", str(tmp_path), ground.run_id, str(at)]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode in (-9, 0)
    return ground


def completes(ground: Ground) -> None:
    """Go on with the run, and assert that each task is done once and nothing is left."""
    state_after = ground.run(jobs=2, review={"do": ["tester"]})
    assert {n: (one.state, one.reason) for n, one in state_after.tasks.items()} == dict.fromkeys(
        (1, 3, 2), ("completed", "")
    )
    assert ground.statuses() == ["completed"] * 3
    assert ground.tree() == {"README.md": "x", "f1": "1", "f2": "2", "f3": "3"}
    assert sum(event.type == "task_done" for event in ground.log()) == 3
    assert _left(ground.run_id) == []
