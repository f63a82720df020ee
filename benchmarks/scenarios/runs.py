"""`nexus-mcp run` with a harness that takes 50 ms: what an attempt adds, how much memory, and how many tasks a second.

Each run is a process of its own, so that its memory is that of an executor. The overhead is measured with as many jobs
as the default has: with eight on two processors the attempts would mostly wait for each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.client import ROOT
from benchmarks.data import project as places
from benchmarks.figures import OURS
from benchmarks.goals import BARE_CHECKED, BARE_HARNESS, OVERHEAD, SIXTY_MB
from benchmarks.scenarios.bench import Bench

FILES, ATTEMPTS, TASKS = 20_000, 40, 200


def run(bench: Bench) -> None:
    """Measure a repository of 20 000 files with two jobs, then 200 tasks in one of 200 files with eight."""
    figures = bench.figures
    load = os.getloadavg()[0]
    for _ in range(bench.rounds):
        large = _run(files=FILES, tasks=ATTEMPTS, jobs=2)
        figures.add("run-attempt", OURS, large["judged_p95_ms"])
        figures.add("run-attempt", OVERHEAD, 300.0)
        figures.add("run-merged", OURS, large["task_done_p95_ms"])
        many = _run(files=200, tasks=TASKS, jobs=8)
        figures.add("run-memory", OURS, many["executor_mb"])
        figures.add("run-memory", SIXTY_MB, 60.0)
        figures.add("run-cpu", OURS, many["cpu_ms"])
        figures.add("run-cpu", BARE_CHECKED, many["bare_checked_cpu_ms"])
        figures.add("run-tasks", OURS, TASKS / many["seconds"])
        figures.add("run-tasks", BARE_HARNESS, TASKS / many["bare_s"])
        figures.add("run-tasks", BARE_CHECKED, TASKS / many["bare_checked_s"])
    if load > 1:
        figures.note(
            f"The rows of runs were measured while {load:.0f} other processes wanted the {os.cpu_count()} processors: "
            "each step waits for its turn, and there are some forty in an attempt, so times are many times those of an "
            "idle machine. Processor time is comparable."
        )


def _run(**options: int) -> dict[str, Any]:
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    places.PLACE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.run", *words, "--folder", str(places.PLACE)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
