"""Eight servers of one project, each of which adds tasks as fast as it can."""

from __future__ import annotations

import json
import os
import selectors
import time
from contextlib import ExitStack

from benchmarks.client import PATIENCE, NotMeasurable, payload
from benchmarks.data.project import Project, projects
from benchmarks.data.tasks import tasks_file
from benchmarks.figures import BUN, Figures, percentile
from benchmarks.goals import CROWDS
from benchmarks.peers.answers import answers
from benchmarks.peers.servers import Server, Session
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import TASK

PROCESSES, CALLS = 8, 25


def run(bench: Bench) -> None:
    servers, rounds, figures = bench.servers, bench.rounds, bench.figures
    for size in CROWDS:
        for turn in range(rounds):
            order = [server for server in servers if server.name != BUN]
            for server in reversed(order) if turn % 2 else order:
                _round(server, size, figures)


def _round(server: Server, size: int, figures: Figures) -> None:
    with projects([server.name]) as made, ExitStack() as stack:
        project = made[server.name]
        if size:
            project.give_tasks(size)
        sessions = [stack.enter_context(server.start(project.root)) for _ in range(PROCESSES)]
        for session in sessions:
            session.ready()
            session.call("task_list")
        os.sync()
        seconds, times, lines = _all_add(sessions)
        added = [answer["task"]["id"] for answer in map(payload, lines) if "task" in answer]
        figures.add(f"crowd-{size}", server.name, len(added) / seconds)
        figures.add(f"crowd-p99-{size}", server.name, percentile(times, 0.99))
        _count(server, project, size, added, figures)


def _all_add(sessions: list[Session]) -> tuple[float, list[float], list[bytes]]:
    """Return (seconds for all calls, milliseconds of each, the lines of the answers, which are parsed later)."""
    times: list[float] = []
    lines: list[bytes] = []
    with selectors.DefaultSelector() as waiting:
        left, sent, rest = {}, {}, {}
        begun = time.perf_counter()
        for session in sessions:
            waiting.register(session.connection.read_from, selectors.EVENT_READ, session)
            left[session.pid], rest[session.pid] = CALLS - 1, b""
            sent[session.pid] = _send(session)
        while waiting.get_map():
            events = waiting.select(PATIENCE)
            if not events:
                raise NotMeasurable(f"{sessions[0].connection.name} did not answer in a crowd")
            for key, _ in events:
                session = key.data
                pid = session.pid
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    raise NotMeasurable(f"{session.connection.name} ended in a crowd")
                rest[pid] += chunk
                if not rest[pid].endswith(b"\n"):
                    continue
                times.append((time.perf_counter() - sent[pid]) * 1000)
                lines.append(rest[pid])
                rest[pid] = b""
                if left[pid]:
                    left[pid] -= 1
                    sent[pid] = _send(session)
                else:
                    waiting.unregister(key.fd)
        return time.perf_counter() - begun, times, lines


def _send(session: Session) -> float:
    line = session.connection.request("tools/call", session.params("task_add", TASK))
    begun = time.perf_counter()
    os.write(session.connection.write_to, line)
    return begun


def _count(server: Server, project: Project, size: int, added: list[int], figures: Figures) -> None:
    """Check that every call succeeded, every id was used once, and the file has every task with its texts."""
    name, total = server.name, PROCESSES * CALLS
    tasks = json.loads(project.tasks.read_bytes())["tasks"]
    kept = [task["id"] for task in tasks]
    what = f"of {total} tasks added to {size} by {PROCESSES} processes"
    figures.expect(name, f"{what}, failed", total - len(added), 0)
    figures.expect(name, f"{what}, doubled", len(added) - len(set(added)), 0)
    figures.expect(name, f"{what}, lost", len(set(added) - set(kept)), 0)
    figures.expect(name, f"{what}, ids in the file", kept == list(range(1, size + len(added) + 1)), True)
    given = json.loads(tasks_file(size))["tasks"] + [
        answers(server).task(task["id"], TASK, {"task": task}) for task in tasks[size:]
    ]
    figures.expect(name, f"{what}, tasks in the file", tasks, given)
