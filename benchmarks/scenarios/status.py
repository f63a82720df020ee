"""The line of a status bar, a process each time, beside an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import time

from benchmarks.client import ROOT
from benchmarks.data.project import projects
from benchmarks.figures import OURS, PYTHON
from benchmarks.goals import STATUS_SIZES
from benchmarks.peers.servers import script
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import bare_python


def run(bench: Bench) -> None:
    """`status --line` in a project with a plan and tasks; on stdin is something unread, as a harness writes it."""
    figures = bench.figures
    with projects([OURS]) as made:
        project = made[OURS]
        project.give_plan()
        environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)}
        for turn in range(bench.rounds + 1):
            for count in STATUS_SIZES:
                project.give_tasks(count)
                command = [*script(), "status", "--line"]
                begun = time.perf_counter()
                done = subprocess.run(
                    command, input=b"{}", capture_output=True, check=False, cwd=project.root, env=environment
                )
                milliseconds = (time.perf_counter() - begun) * 1000
                seen = (done.returncode, done.stderr, f"/{count} done".encode() in done.stdout)
                figures.expect(OURS, f"status --line with {count} tasks", seen, (0, b"", True))
                bare = bare_python()
                if turn:
                    figures.add(f"status-line-{count}", OURS, milliseconds)
                    figures.add(f"status-line-{count}", PYTHON, bare)
