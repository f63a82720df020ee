"""Measure what `nexus-mcp run` adds to its harness: `python -m benchmarks.run [--files N] [--tasks N] [--jobs N]`.

Three figures: the overhead of an attempt (worktree, log, commit, checks' start, merge) besides the session itself, the
memory of the executor, and how near many short tasks come to the ideal of `tasks × session / jobs`. The harness is a
shell command that writes a file and sleeps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from nexus_mcp.catalog.load import load
from nexus_mcp.run import events as ev
from nexus_mcp.run.begin import begun
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.execute import Front, execute
from nexus_mcp.run.setup import Options
from nexus_mcp.state import tasks as task_list
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace

SESSION_S = 0.05
GOALS = {"overhead_p95_s": 0.3, "executor_mib": 60, "share_of_ideal": 0.7}


def make(folder: Path, files: int, number: int) -> Path:
    """Make a repository with so many files and tasks, and return it."""
    root = folder / "project"
    (root / ".nexus" / "state").mkdir(parents=True)
    for each in range(files):
        path = root / f"d{each % 200}" / f"f{each}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{each}\n")
    (root / ".nexus" / ".gitignore").write_text("*\n")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "files")):
        identity = ("-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=root, check=True)
    for name, value in (("user.name", "b"), ("user.email", "b@example.org")):
        subprocess.run(["git", "config", name, value], cwd=root, check=True)
    document = task_list.empty()
    document["tasks"] = [
        {"id": n, "title": f"Task {n}", "context": "c", "status": "pending", "deps": [], "created_at": _stamp()}
        for n in range(1, number + 1)
    ]
    (root / ".nexus" / "state" / "tasks.json").write_text(json.dumps(document, indent=2))
    return root


def _stamp() -> str:
    return "2026-01-01T00:00:00.000Z"


async def measure(root: Path, worktrees: Path, jobs: int) -> dict[str, Any]:
    """Run the list, and return the figures."""
    script = f'echo $NEXUS_TASK > new-$NEXUS_TASK; sleep {SESSION_S}; echo \'{{"kind": "done"}}\''
    template = {"command": ["/bin/sh", "-c", script], "format": "jsonl"}
    config = RunConfig.model_validate(
        {
            "harness": "bench",
            "drivers": {"bench": template},
            "worktrees": str(worktrees),
            "checks": {"test": "true"},
            "review": {},
            "jobs": jobs,
        }
    )
    workspace = Workspace(str(root))
    store = Store(workspace)
    began = time.monotonic()
    options = Options(merge="never")
    opened = begun(workspace=workspace, store=store, config=config, options=options, catalog=load(str(root)))
    async with opened as run:
        result = await execute(run, Front())
        took = time.monotonic() - began
        log = list(run.log.events)
    assert result.status == "completed", result
    overheads = sorted(_overheads(log))
    number = len(overheads)
    return {
        "tasks": number,
        "jobs": jobs,
        "seconds": round(took, 2),
        "overhead_median_s": round(statistics.median(overheads), 3),
        "overhead_p95_s": round(overheads[min(number - 1, int(number * 0.95))], 3),
        "executor_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "share_of_ideal": round(number * SESSION_S / jobs / took, 3),
    }


def _overheads(log: list[ev.AnyEvent]) -> list[float]:
    """Return for each attempt the seconds from its plan to the end of its task, without those of its session."""
    found: dict[int, dict[str, float]] = {}
    for event in log:
        if event.task is not None:
            found.setdefault(event.task, {})[event.type] = datetime.fromisoformat(event.at).timestamp()
    return [
        times["task_done"] - times["attempt_planned"] - (times["process_ended"] - times["process_started"])
        for times in found.values()
    ]


def main() -> None:
    """Print the figures as JSON, each with its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=8)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nexus-bench-run-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        root = make(Path(folder), chosen.files, chosen.tasks)
        figures = asyncio.run(measure(root, Path(folder) / "worktrees", chosen.jobs))
    print(json.dumps({"files": chosen.files, **figures, "goals": GOALS}, indent=2))


if __name__ == "__main__":
    main()
