"""Measure what `nexus-mcp run` adds to its harness: `python -m benchmarks.run [--files N] [--tasks N] [--jobs N]`.

The harness is a shell command that writes a file and sleeps. Printed as JSON: the overhead of an attempt besides its
session (from its plan to its judgement; and to the end of its task, with the merge), the tasks per second, processor
time and memory. Beside them, in the same process and before and after the run, the same number of the same
commands, started by as many workers that do nothing else; once alone, and once with the two checks of each task.
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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import percentile
from benchmarks.memory import peak
from nexus_mcp.catalog.load import load
from nexus_mcp.run import events as ev
from nexus_mcp.run.begin import open_run
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.execute import Front, execute
from nexus_mcp.run.setup import Options
from nexus_mcp.state import tasks as task_list
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace

SESSION_S = 0.05
_SCRIPT = f'echo $NEXUS_TASK > new-$NEXUS_TASK; sleep {SESSION_S}; echo \'{{"kind": "done"}}\''
SESSION = ("/bin/sh", "-c", _SCRIPT)
CHECK = ("/bin/sh", "-c", "true")
_STAMP = "2026-01-01T00:00:00.000Z"


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
        {"id": n, "title": f"Task {n}", "context": "c", "status": "pending", "deps": [], "created_at": _STAMP}
        for n in range(1, number + 1)
    ]
    (root / ".nexus" / "state" / "tasks.json").write_text(json.dumps(document, indent=2))
    return root


def bare(folder: Path, number: int, jobs: int, commands: Sequence[Sequence[str]] = (SESSION,)) -> float:
    """Return the seconds that `jobs` workers need for `number` times these commands, one after the other."""
    folder.mkdir(exist_ok=True)
    environ = {**os.environ, "NEXUS_TASK": "1"}

    def work(_: int) -> None:
        for command in commands:
            subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as workers:
        list(workers.map(work, range(number)))
    return time.monotonic() - began


def _processor_s() -> float:
    """Return the seconds of processor time of this process and of its children that ended."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


async def measure(root: Path, worktrees: Path, jobs: int) -> dict[str, Any]:
    """Run the list, and return the figures."""
    template = {"command": list(SESSION), "format": "jsonl"}
    config = RunConfig.model_validate(
        {
            "harness": "bench",
            "drivers": {"bench": template},
            "worktrees": str(worktrees),
            "checks": {"test": CHECK[2]},
            "review": {},
            "jobs": jobs,
        }
    )
    workspace = Workspace(str(root))
    store = Store(workspace)
    began = time.monotonic()
    options = Options(merge="never")
    opened = open_run(workspace=workspace, store=store, config=config, options=options, catalog=load(str(root)))
    async with opened as run:
        result = await execute(run, Front())
        took = time.monotonic() - began
        log = list(run.log.events)
    times = _times(log)
    assert result.status == "completed", result
    return {
        "tasks": len(times),
        "jobs": jobs,
        "seconds": round(took, 2),
        **_overheads("judged", times),
        **_overheads("task_done", times),
        "executor_mb": round(peak(os.getpid()), 1),
    }


def _times(log: list[ev.AnyEvent]) -> list[dict[str, float]]:
    """Return for each task the seconds of its events, by their types."""
    found: dict[int, dict[str, float]] = {}
    for event in log:
        if event.task is not None:
            found.setdefault(event.task, {})[event.type] = datetime.fromisoformat(event.at).timestamp()
    return list(found.values())


def _overheads(end: str, times: list[dict[str, float]]) -> dict[str, float]:
    """Return median, 95th percentile and maximum of the milliseconds from plan to `end`, without the session."""
    found = [
        1000 * (one[end] - one["attempt_planned"] - (one["process_ended"] - one["process_started"])) for one in times
    ]
    shown = {"median": statistics.median(found), "p95": percentile(found, 0.95), "max": max(found)}
    return {f"{end}_{name}_ms": round(value, 1) for name, value in shown.items()}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where the repository is made")
    chosen = parser.parse_args()
    number, jobs = chosen.tasks, chosen.jobs
    with tempfile.TemporaryDirectory(prefix="nexus-bench-run-", dir=chosen.folder) as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = name
        root = make(folder, chosen.files, number)
        os.sync()
        ideal = bare(folder / "a", number, jobs)
        began = _processor_s()
        checked = bare(folder / "b", number, jobs, (SESSION, CHECK, CHECK))
        between = _processor_s()
        figures = asyncio.run(measure(root, folder / "worktrees", jobs))
        used = {"cpu_ms": (_processor_s() - between) / number, "bare_checked_cpu_ms": (between - began) / number}
        figures |= {name: round(seconds * 1000, 1) for name, seconds in used.items()}
        after = bare(folder / "c", number, jobs), bare(folder / "d", number, jobs, (SESSION, CHECK, CHECK))
    figures |= {"bare_s": round((ideal + after[0]) / 2, 3), "bare_checked_s": round((checked + after[1]) / 2, 3)}
    figures["share_of_bare"] = round(figures["bare_s"] / figures["seconds"], 3)
    print(json.dumps({"files": chosen.files, **figures}, indent=2))


if __name__ == "__main__":
    main()
