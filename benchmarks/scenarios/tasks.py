"""task_add, task_update and task_list by a warm server, on lists of several lengths."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping
from contextlib import ExitStack

from benchmarks.bare import answer_command
from benchmarks.client import Connection
from benchmarks.data.project import Project, projects
from benchmarks.data.tasks import tasks_file
from benchmarks.disk import durable
from benchmarks.figures import OURS, Figures
from benchmarks.goals import PIPED, TASK_CALLS, WRITTEN
from benchmarks.peers.answers import Json, answers
from benchmarks.peers.servers import Session
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import TASK

TOGETHER = 3
"""Rounds of the same processes. The CPU placement of a process persists and shifts results by about 8 %, so several
processes are measured."""


def run(bench: Bench, *, count: int, calls: int) -> None:
    """Measure `calls` of each kind per round; before each round every list is reset to `count` tasks."""
    with projects([server.name for server in bench.servers]) as made:
        for begun in range(0, max(1, bench.rounds), TOGETHER):
            _some_rounds(bench, made, count, calls, range(begun, min(begun + TOGETHER, bench.rounds)))


def _some_rounds(bench: Bench, made: Mapping[str, Project], count: int, calls: int, turns: range) -> None:
    """Run the rounds `turns` with new servers, after a first round that does not count."""
    figures = bench.figures
    with ExitStack() as stack:
        sessions = [stack.enter_context(server.start(made[server.name].root)) for server in bench.servers]
        for session in sessions:
            session.ready()
        limit = made[OURS].root / "limit"
        limit.write_bytes(tasks_file(count))
        bare = stack.enter_context(Connection(answer_command(limit), made[OURS].root))
        for turn in (-1, *turns):
            for session in sessions[turn % len(sessions) :] + sessions[: turn % len(sessions)]:
                times = _round(session, made[session.server.name], count, calls, figures)
                for tool, values in times.items():
                    if turn >= 0:
                        figures.add(f"{tool}-{count}", session.server.name, statistics.median(values))
            written = statistics.median(durable(limit, tasks_file(count)) for _ in range(calls))
            asked = {"name": "task_add", "arguments": TASK}
            piped = statistics.median(_piped(bare, asked, count) for _ in range(calls))
            if turn >= 0:
                for tool in ("task_add", "task_update"):
                    figures.add(f"{tool}-{count}", WRITTEN, written)
                    figures.add(f"{tool}-{count}", PIPED, piped)


def _piped(bare: Connection, asked: Json, count: int) -> float:
    """Return the milliseconds of one call of the bare loop, with the same work between two calls as for a server."""
    json.loads(tasks_file(count))
    return bare.ask("tools/call", asked)[0]


def _round(session: Session, project: Project, count: int, calls: int, figures: Figures) -> dict[str, list[float]]:
    name, says = session.server.name, answers(session.server)
    given = json.loads(tasks_file(count))
    goal, tasks = given["goal"], given["tasks"]
    project.give_tasks(count)
    os.sync()  # so that the calls do not wait for earlier writes
    session.call("task_list")  # so that no measured call reads the list that this round reset
    times: dict[str, list[float]] = {tool: [] for tool in TASK_CALLS}
    for number in range(1, calls + 1):
        taken, answer = session.call("task_add", **TASK)
        times["task_add"].append(taken)
        tasks.append(says.task(count + number, TASK, answer))
        figures.expect(name, "task_add", answer, {"task": tasks[-1]})
        taken, answer = session.call("task_update", id=number, status="in_progress")
        times["task_update"].append(taken)
        tasks[number - 1]["status"] = "in_progress"
        figures.expect(name, "task_update", answer, {"task": tasks[number - 1]})
        taken, answer = session.call("task_list")
        times["task_list"].append(taken)
        figures.expect(name, "task_list", answer, says.listed(goal, tasks))
    return times
