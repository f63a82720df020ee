"""A hook as a harness runs it: a process with its params on stdin, beside an interpreter that does nothing."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

from benchmarks.client import ROOT
from benchmarks.data.project import projects
from benchmarks.figures import OURS, PYTHON
from benchmarks.goals import HOOKS
from benchmarks.peers.servers import script
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import bare_python

PARAMS: dict[str, dict[str, Any]] = {
    "agent_spawn": {"agent_name": "engineer", "agent_id": "a1"},
    "agent_complete": {"agent_id": "a1", "last_message": "Done.", "files_touched": ["store.py"]},
    "session_end": {},
}


def run(bench: Bench) -> None:
    """One session a round: an agent begins and ends in a project with 20 tasks, then the session ends.

    Upstream has no hooks of its own.
    """
    figures = bench.figures
    with projects([OURS]) as made:
        project = made[OURS]
        project.give_tasks(20)
        environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)}
        for turn in range(bench.rounds + 1):
            for hook in HOOKS:
                begun = time.perf_counter()
                done = subprocess.run(
                    [*script(), "hook", hook],
                    input=json.dumps(PARAMS[hook]).encode(),
                    capture_output=True,
                    check=False,
                    cwd=project.root,
                    env=environment,
                )
                milliseconds = (time.perf_counter() - begun) * 1000
                figures.expect(OURS, f"hook {hook}", done.returncode, 0)
                bare = bare_python()
                if turn:
                    figures.add(f"hook-{hook}", OURS, milliseconds)
                    figures.add(f"hook-{hook}", PYTHON, bare)
