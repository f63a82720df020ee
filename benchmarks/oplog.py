"""Measure the cost of the operation log: each change with the log and without it, in turn, in one process, with fsync.

    python -m benchmarks.oplog [--rounds N] [--folder DIR]

The files are restored before each call, so that it always finds the number of tasks of the row. A round makes each call
once with the log and once without; the order alternates. The table shows both medians, and the median of the difference
within a round, in ms and as a ratio: a busy moment affects both calls of a round. DIR has to be on a real disk, because
without the cost of fsync the ratio of the log is too large. The exit code is 0 when no ratio is above 1.10.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nexus_mcp.server.app import App
from nexus_mcp.store import oplog
from nexus_mcp.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
GOAL = 1.10
SIZES = (0, 20, 140)
TASK = {
    "title": "Write the store and its tests",
    "context": "One file for each kind of state, replaced whole, under one lock. " * 3,
    "acceptance": "Tests pass, and a crash at any point leaves the old file or the new one.",
    "approach": "A temporary file beside it, synced, then renamed.",
}
PLAN = {"topic": "Storage", "issues": ["Where?", "How?"], "research_summary": "Files suffice."}
CALLS: dict[str, dict[str, Any]] = {
    "task_add": TASK,
    "task_update": {"id": 1, "status": "completed"},
    "plan_decide": {"issue_id": 1, "decision": "In files, because people can read them."},
    "artifact_write": {"filename": "notes.md", "content": "A line of notes, as agents leave them.\n" * 100},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=300, help="calls of each kind with and without log (default: 300)"
    )
    parser.add_argument("--folder", default=str(ROOT / ".cache"), help="where to write (default: .cache)")
    given = parser.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    print(f"{'tasks':>5}  {'call':14}  {'with (ms)':>9}  {'without':>9}  {'added':>9}  {'ratio':>6}")
    worst = 0.0
    for size in SIZES:
        for name in CALLS:
            if name == "task_update" and not size:
                continue  # there is nothing to update
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                logged, plain = measure(folder, size, name, given.rounds)
            added = statistics.median(one - other for one, other in zip(logged, plain, strict=True))
            ratio = 1 + added / statistics.median(plain)
            medians = f"{statistics.median(logged):9.3f}  {statistics.median(plain):9.3f}  {added:9.3f}"
            print(f"{size:5}  {name:14}  {medians}  {ratio:6.3f}", flush=True)
            worst = max(worst, ratio)
    where = f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, {given.rounds} rounds"
    print(f"\n{where}. At most {GOAL:.2f}: {'yes' if worst <= GOAL else 'no'}")
    return int(worst > GOAL)


def measure(folder: str, size: int, name: str, rounds: int) -> tuple[list[float], list[float]]:
    """Return (the milliseconds of each call with the log, those without)."""
    app = App(Workspace(folder))
    call(app, "plan_start", PLAN)
    for _ in range(size):
        call(app, "task_add", TASK)
    state = Path(folder, ".nexus", "state")
    kept = {path: path.read_bytes() for path in (state / "plan.json", state / "tasks.json") if path.exists()}
    times: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(rounds + 10):  # the first ten warm up
        for with_log in (True, False) if turn % 2 else (False, True):
            for path in (state / "plan.json", state / "tasks.json"):
                path.unlink(missing_ok=True)
            for path, data in kept.items():
                path.write_bytes(data)
            with nothing() if with_log else unlogged():
                begun = time.perf_counter()
                call(app, name, CALLS[name])
                if turn >= 10:
                    times[with_log].append((time.perf_counter() - begun) * 1000)
    return times[True], times[False]


@contextmanager
def unlogged() -> Iterator[None]:
    """Switch the operation log off, and all reading and computing for it."""
    note: Callable[..., None] = lambda *_: None  # noqa: E731
    with patch.object(oplog, "note", note):
        yield


@contextmanager
def nothing() -> Iterator[None]:
    # The same number of patches, so that both sides pay for them.
    with patch.object(oplog, "note", oplog.note):
        yield


def call(app: App, name: str, arguments: dict[str, Any]) -> None:
    answer = app.call(name, arguments, "benchmark")
    assert not answer.result["isError"], answer.result
    answer.confirm_delivery()


if __name__ == "__main__":
    sys.exit(main())
