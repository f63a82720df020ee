"""The measured calls of the trend: few, and in memory where possible, so that no disk matters."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.client import ROOT, Connection
from benchmarks.data.history import history as kept_history
from benchmarks.data.project import Project
from benchmarks.data.words import RARE
from benchmarks.disk import timed
from benchmarks.figures import OURS
from benchmarks.peers.servers import SERVERS, Session, script
from benchmarks.scenarios.archive import PLAN
from benchmarks.scenarios.start import TASK, bare_python

OFTEN, FEW = 5, 3  # numbers of calls whose median is the time of a round
CYCLES = 1_000

Pairs = dict[str, list[tuple[float, float]]]
Times = Iterator[tuple[str, float]]


class Bed:
    """Our servers, each with a project of its own, all running."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.stack, self.folder, self.server = stack, folder, SERVERS[OURS]()
        self.tasks, self.list, self.history = (Project(folder / name) for name in ("tasks", "list", "history"))
        self.empty = Project(folder / "empty")
        self.list.give_tasks(10_000)
        self.indexed = Project(folder / "indexed")
        for project in (self.history, self.indexed):
            project.give_history(CYCLES)
        self.sessions: dict[Path, Session] = {}
        scanned = Path(shutil.copyfile(kept_history(CYCLES), folder / "scanned"))
        command = [sys.executable, "-m", "benchmarks.trend.reference", str(scanned)]
        self.reference = stack.enter_context(Connection(command, folder))

    def session(self, project: Project) -> Session:
        """Return the session of a project; start it at the first use, and make a call to warm it up."""
        if project.root not in self.sessions:
            made = self.stack.enter_context(self.server.start(project.root))
            made.ready()
            made.call("history_search", query=RARE.lower())
            self.sessions[project.root] = made
        return self.sessions[project.root]


@contextmanager
def bed() -> Iterator[Bed]:
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as folder, ExitStack() as stack:
        yield Bed(stack, Path(folder))


def start(bed: Bed) -> Times:
    times = []
    for _ in range(FEW):
        with bed.server.start(bed.empty.root) as session:
            times.append(session.ready())
    yield "start", statistics.median(times)


def hook(bed: Bed) -> Times:
    yield "hook", _processes(bed.empty, "hook", "session_end")


def _processes(project: Project, *words: str) -> float:
    """The median time of a few processes of ours, each started anew in the project."""
    environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)}

    def work() -> None:
        command = [*script(), *words]
        subprocess.run(command, input=b"{}", capture_output=True, check=True, cwd=project.root, env=environment)

    return statistics.median(timed(work) for _ in range(FEW))


def status_line(bed: Bed) -> Times:
    bed.tasks.give_tasks(140)
    yield "status-line", _processes(bed.tasks, "status", "--line")


def tasks(bed: Bed) -> Times:
    session = bed.session(bed.tasks)
    bed.tasks.give_tasks(140)
    session.call("task_list")
    yield "task_add-140", _median(session, "task_add", **TASK)
    yield "task_update-140", _median(session, "task_update", id=7, status="in_progress")
    yield "task_list-140", _median(session, "task_list")


def long_list(bed: Bed) -> Times:
    session = bed.session(bed.list)
    yield "task_list-10000", statistics.median(session.call("task_list")[0] for _ in range(FEW))


def cycles(bed: Bed) -> Times:
    """Return the times of calls on a history that grows by one cycle per round."""
    session = bed.session(bed.history)
    yield "search-1000", _median(session, "history_search", query=RARE.lower())
    yield "close-1000", session.call("task_close")[0]


def first(bed: Bed) -> Times:
    """Return the times of first calls of new servers, which find the index that another server has made."""
    bed.session(bed.indexed)
    times = []
    for _ in range(FEW):
        with bed.server.start(bed.indexed.root) as session:
            session.ready()
            times.append(session.call("history_search", query=RARE.lower())[0])
    yield "first-1000", statistics.median(times)


def plans(bed: Bed) -> Times:
    session = bed.session(bed.history)
    yield "recent-1000", _median(session, "history_search")
    yield "plan-1000", session.call("plan_start", **PLAN)[0]


def _median(session: Session, tool: str, **arguments: object) -> float:
    return statistics.median(session.call(tool, **arguments)[0] for _ in range(OFTEN))


def bare(bed: Bed) -> float:
    del bed
    return bare_python()


def _by(work: str) -> Callable[[Bed], float]:
    return lambda bed: bed.reference.ask(work, {})[0]


# (The workload, its rows, the reference, which does not depend on our code.)
WORKLOADS: tuple[tuple[Callable[[Bed], Times], tuple[str, ...], Callable[[Bed], float]], ...] = (
    (start, ("start",), bare),
    (hook, ("hook",), bare),
    (status_line, ("status-line",), bare),
    (tasks, ("task_add-140", "task_update-140", "task_list-140"), _by("call")),
    (long_list, ("task_list-10000",), _by("answer")),
    (cycles, ("search-1000", "close-1000"), _by("scan")),
    (first, ("first-1000",), bare),
    (plans, ("recent-1000", "plan-1000"), _by("call")),
)
ROWS = frozenset(row for _, rows, _ in WORKLOADS for row in rows)


def measure(rows: frozenset[str], rounds: int) -> Pairs:
    """Return row → (our time, the reference) of each round in ms. The first round warms up, and is left out."""
    pairs: Pairs = {row: [] for row in rows}
    with bed() as made:
        for turn in range(rounds + 1):
            for work, given, unchanging in WORKLOADS:
                if rows.isdisjoint(given):
                    continue
                others = [unchanging(made) for _ in range(FEW)]
                times = dict(work(made))
                other = statistics.median(others + [unchanging(made) for _ in range(FEW)])
                if turn:
                    for row in rows & times.keys():
                        pairs[row].append((times[row], other))
    return pairs
