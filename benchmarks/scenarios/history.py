"""The calls on histories of every size: of a warm server, of a new one, and of one without an index.

Each round goes through all sizes, and at each size through all servers. So a time at 50 000 cycles and the time at 100
cycles in the same ratio were measured within minutes of each other.
"""

from __future__ import annotations

import os
import statistics

from benchmarks.data.project import projects
from benchmarks.figures import NODE, OURS
from benchmarks.goals import OWN_100, SIZES
from benchmarks.peers.servers import Session
from benchmarks.scenarios.archive import Archive
from benchmarks.scenarios.bench import Bench

LARGE = 10_000  # from here on, first calls are measured
LARGEST_ROUNDS = 3  # rounds of other servers at the largest size, where each of their calls takes seconds
OFTEN = 5  # calls of each kind per round; other servers at the largest size make one call, after one to warm up
WRITES = frozenset({"plan", "archive", "close", "peak"})
OWN = ("recent", "plan")


def run(bench: Bench) -> None:
    names = [f"{server.name} {size}" for size in SIZES for server in bench.servers]
    with projects(names) as made:
        archives = {
            size: [Archive(server, size, made[f"{server.name} {size}"], bench.figures) for server in bench.servers]
            for size in SIZES
        }
        for turn in range(bench.rounds):
            for size, of_size in archives.items():
                for archive in reversed(of_size) if turn % 2 else of_size:
                    if archive.server.name == OURS or size < SIZES[-1] or turn < LARGEST_ROUNDS:
                        _round(archive, bench)
        for size, of_size in archives.items():
            for archive in of_size:
                _end(archive, bench, parse=size == SIZES[0])


def _round(archive: Archive, bench: Bench) -> None:
    name, size = archive.server.name, archive.size

    def add(op: str, value: float, series: str = name) -> None:
        if op in bench.parts:
            bench.figures.add(f"{op}-{size}", series, value)

    os.sync()  # so that the next fsync does not wait for earlier writes
    if name == OURS and size >= LARGE:
        _clone(archive, bench)
    if "first-plan" in bench.parts or "clone-plan" in bench.parts:

        def first_plan(session: Session) -> None:
            taken = archive.plan_start(session, archives=False)
            if size >= LARGE:
                for op in ("first-plan", "clone-plan") if name != OURS else ("first-plan",):
                    add(op, taken)

        archive.fresh(first_plan)
        archive.drop_plan()

    def work(session: Session) -> None:
        first = archive.recent(session)
        if size >= LARGE:
            for op in ("first-recent", "clone-recent") if name != OURS else ("first-recent",):
                add(op, first)
        slow = name != OURS and size == SIZES[-1]
        calls = 1 if slow else OFTEN
        if bench.parts & {"search", "clone-search", "peak"}:
            archive.search(session)
            taken = statistics.median(archive.search(session) for _ in range(calls))
            add("search", taken)
            if name != OURS and size >= LARGE:
                add("clone-search", taken)
        if bench.parts & {"recent", "peak"}:
            add("recent", statistics.median(archive.recent(session) for _ in range(calls)))
        if bench.parts & WRITES:
            times = archive.turns(session, calls + slow)[slow:]
            for op, values in zip(("plan", "archive", "close"), zip(*times, strict=True), strict=True):
                add(op, statistics.median(values))
        if name == OURS:
            archive.recent(session)
            archive.search(session)

    archive.fresh(work)
    if name == OURS and size == SIZES[0]:
        for op in OWN:
            for value in bench.figures.values.get(f"{op}-{size}", {}).get(OURS, ())[-1:]:
                for other in SIZES[1:]:
                    bench.figures.add(f"{op}-{other}", OWN_100, value)


def _clone(archive: Archive, bench: Bench) -> None:
    """Measure the first call of each kind by a server that finds the history without its index."""

    def plan(session: Session) -> float:
        return archive.plan_start(session, archives=False)

    for op, call in (("clone-search", archive.search), ("clone-recent", archive.recent), ("clone-plan", plan)):
        if op not in bench.parts:
            continue

        def work(session: Session, op: str = op, call: object = call) -> None:
            assert callable(call)
            bench.figures.add(f"{op}-{archive.size}", OURS, call(session))

        archive.project.forget_index()
        archive.fresh(work)
        if op == "clone-plan":
            archive.drop_plan()


def _end(archive: Archive, bench: Bench, *, parse: bool) -> None:
    name = archive.server.name
    if "peak" in bench.parts:
        bench.figures.add(f"peak-{archive.size}", name, archive.peak)
    if parse and bench.parts & {"archive", "close"}:

        def parsed(session: Session) -> None:
            archive.turns(session, 10, parse=True)

        archive.fresh(parsed)
    if bench.parts & WRITES:
        archive.fresh(archive.decided)
    archive.check_whole()
    if archive.looks and name in (OURS, NODE):
        reads = f"{archive.looks} reads of {archive.size} cycles while they were replaced"
        bench.figures.note(f"{name}: {reads}, {archive.half} of an incomplete file")
