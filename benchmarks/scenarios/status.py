"""The status as a process each time: its line beside an interpreter that does nothing, and beside Backlog.md's list."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.client import ROOT
from benchmarks.data import project as places
from benchmarks.data.project import Project, projects
from benchmarks.data.tasks import tasks_file
from benchmarks.figures import OURS, PYTHON
from benchmarks.goals import BACKLOG, STATUS_SIZES
from benchmarks.peers.packages import PACKAGES, installed
from benchmarks.peers.servers import script
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import bare_python

TASKS, CLOSED = 200, 1_000
_ROUNDS = 9
"""Backlog.md takes a second for a list."""
_FILE = """\
---
id: TASK-{id}
title: {title}
status: {status}
assignee: []
created_date: '2026-01-01 08:00'
labels: []
dependencies: []
---

## Description

{text}
"""


def run(bench: Bench) -> None:
    """Measure in a project with a plan and tasks; on stdin is something unread, as a harness writes it."""
    figures = bench.figures
    with projects([OURS]) as made, tempfile.TemporaryDirectory(dir=places.PLACE) as folder:
        project = made[OURS]
        project.give_plan()
        backlog = _backlog(Path(folder))
        for turn in range(bench.rounds + 1):
            for count in STATUS_SIZES:
                project.give_tasks(count)
                milliseconds, out = _ours(bench, project, "--line")
                figures.expect(OURS, f"status --line with {count} tasks", f"/{count} done".encode() in out, True)
                bare = bare_python()
                if turn:
                    figures.add(f"status-line-{count}", OURS, milliseconds)
                    figures.add(f"status-line-{count}", PYTHON, bare)
        project.give_tasks(TASKS)
        project.give_history(CLOSED)
        for turn in range(min(bench.rounds, _ROUNDS) + 1):
            milliseconds, out = _ours(bench, project)
            figures.expect(OURS, "status", f"of {TASKS} done".encode() in out, True)
            other = _listed(bench, backlog, Path(folder))
            if turn:
                figures.add("status", OURS, milliseconds)
                figures.add("status", BACKLOG, other)


def _ours(bench: Bench, project: Project, *options: str) -> tuple[float, bytes]:
    """Return the milliseconds of `nexus-mcp status`, and what it prints."""
    environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)}
    command = [*script(), "status", *options]
    begun = time.perf_counter()
    done = subprocess.run(command, input=b"{}", capture_output=True, check=False, cwd=project.root, env=environment)
    milliseconds = (time.perf_counter() - begun) * 1000
    bench.figures.expect(OURS, "status", (done.returncode, done.stderr), (0, b""))
    return milliseconds, done.stdout


def _backlog(folder: Path) -> str:
    """Make a project of Backlog.md with the same tasks, and as many completed ones; return its program."""
    program = str(installed(PACKAGES["backlog.md"]))
    words = ("init", "measured", "--defaults", "--no-git", "--integration-mode", "none")
    environment = {**os.environ, "HOME": str(folder)}
    subprocess.run([program, *words], cwd=folder, env=environment, check=True, capture_output=True)
    rows = json.loads(tasks_file(TASKS + CLOSED))["tasks"]
    for number, row in enumerate(rows, 1):
        is_open = number <= TASKS
        place = folder / "backlog" / ("tasks" if is_open else "completed")
        place.mkdir(parents=True, exist_ok=True)
        text = _FILE.format(
            id=number,
            title=json.dumps(row["title"], ensure_ascii=False),
            status="To Do" if is_open else "Done",
            text=row["context"],
        )
        (place / f"task-{number} - x.md").write_text(text, encoding="utf-8")
    return program


def _listed(bench: Bench, program: str, folder: Path) -> float:
    """Return the milliseconds of `backlog task list`."""
    environment = {**os.environ, "HOME": str(folder)}
    begun = time.perf_counter()
    done = subprocess.run(
        [program, "task", "list", "--plain"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd=folder,
        env=environment,
    )
    milliseconds = (time.perf_counter() - begun) * 1000
    bench.figures.expect(BACKLOG, "tasks of the list", done.stdout.count(b"TASK-"), TASKS)
    return milliseconds
