"""Spawn to tools/list, the first call after it, and memory after ten calls; other products for context."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bare import first_modules, load_time
from benchmarks.client import NotMeasurable
from benchmarks.data.project import Project, projects
from benchmarks.data.tasks import plan_file, tasks_file
from benchmarks.disk import durable, sync, timed
from benchmarks.figures import BUN, NODE, OURS, PYTHON, Figures
from benchmarks.goals import FIRST_WRITTEN, LATER, LOADED
from benchmarks.memory import resident
from benchmarks.peers.answers import Json, answers
from benchmarks.peers.servers import CONTEXT, Server, available
from benchmarks.scenarios.bench import Bench

TASK = {"title": "Write the store", "context": "One file for each kind of state.", "acceptance": "Tests pass."}
# Seven of these ten calls write.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("plan_start", {"topic": "Storage", "issues": ["Where?", "How?"], "research_summary": "Files suffice."}),
    ("plan_status", {}),
    ("plan_decide", {"issue_id": 1, "decision": "In files"}),
    ("plan_decide", {"issue_id": 2, "decision": "Atomically"}),
    ("task_add", TASK),
    ("task_add", {**TASK, "deps": [1]}),
    ("task_list", {}),
    ("task_update", {"id": 1, "status": "in_progress"}),
    ("artifact_write", {"filename": "notes.md", "content": "Notes\n"}),
    ("history_search", {}),
)
FIRST: dict[str, dict[str, Any]] = {"plan_status": {}, "task_list": {}, "task_add": TASK}
_FEWER = 3  # rounds of other products, which start slowly and have no goal


def run(bench: Bench) -> None:
    servers, rounds, figures = bench.servers, bench.rounds, bench.figures
    context, missing = available(CONTEXT)
    for text in missing:
        figures.note(text)
    modules = {tool: _modules(tool, arguments) for tool, arguments in FIRST.items()}
    for turn in range(rounds + 1):  # the first warms the file cache and does not count
        counts = turn > 0
        for server in [*servers, *(context if turn <= _FEWER else ())]:
            try:
                _start(server, figures, counts=counts)
            except NotMeasurable as error:
                if server.name in (OURS, NODE, BUN):
                    raise
                figures.note(f"{server.name} is not measured: {error}")
                context.remove(server)
        for server in servers:
            for tool, arguments in FIRST.items():
                _first(server, tool, arguments, figures, counts=counts)
                _first(server, tool, arguments, figures, counts=counts, pause=LATER)
        for tool, names in modules.items() if counts else ():
            figures.add(f"first-{tool}", LOADED, load_time(names))
        milliseconds = bare_python()
        if counts:
            figures.add("start", PYTHON, milliseconds)


def _start(server: Server, figures: Figures, *, counts: bool) -> None:
    with projects([server.name]) as made, server.start(made[server.name].root) as session:
        milliseconds = session.ready()
        if server.tools:
            for tool, arguments in CALLS:
                _, answer = session.call(tool, **arguments)
                figures.expect(server.name, f"{tool} refused", answer.get("error"), None)
        megabytes = resident(session.pid)
    if counts:
        figures.add("start", server.name, milliseconds)
        figures.add("memory", server.name, megabytes)


def _first(
    server: Server, tool: str, arguments: dict[str, Any], figures: Figures, *, counts: bool, pause: float = 0.0
) -> None:
    """Measure a call in a project with a plan and 20 tasks, `pause` seconds after the server answered tools/list."""
    with projects([server.name]) as made:
        _give(made[server.name])
        os.sync()  # so that the call does not wait for the writes of the project
        with server.start(made[server.name].root) as session:
            session.ready()
            time.sleep(pause)
            milliseconds, answer = session.call(tool, **arguments)
        row = f"{'later' if pause else 'first'}-{tool}"
        if counts and tool == "task_add" and server.name == OURS:
            figures.add(row, FIRST_WRITTEN, timed(partial(_first_write, made[server.name].root / "limit")))
    figures.expect(server.name, f"first {tool}", answer, _expected(server, tool, answer))
    if counts:
        figures.add(row, server.name, milliseconds)


def _expected(server: Server, tool: str, answer: Json) -> Json:
    says, tasks = answers(server), json.loads(tasks_file(20))
    if tool == "task_add":
        return {"task": says.task(21, TASK, answer)}
    return says.listed(tasks["goal"], tasks["tasks"]) if tool == "task_list" else says.status(json.loads(plan_file()))


def _first_write(root: Path) -> None:
    """Write the files of a first write: two folders, the .gitignore, and the tasks."""
    state = root / ".nexus" / "state"
    state.mkdir(parents=True)
    durable(state.parent / ".gitignore", b"state/\n")
    sync(root)
    durable(state / "tasks.json", tasks_file(20))


def _modules(tool: str, arguments: dict[str, Any]) -> list[str]:
    with projects([OURS]) as made:
        _give(made[OURS])
        return first_modules(made[OURS].root, tool, arguments)


def _give(project: Project) -> None:
    project.give_plan()
    project.give_tasks(20)


def bare_python() -> float:
    """Return the milliseconds of an interpreter that does nothing, the lower bound for our processes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - begun) * 1000
