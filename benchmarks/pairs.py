"""Measure the effect of a change of our code on warm calls: two checkouts, over several pairs of new servers.

    python -m benchmarks.pairs BEFORE AFTER [--pairs N] [--folder DIR]

BEFORE and AFTER are folders with a package `nexus_mcp` in them, with compiled bytecode. The servers of a pair take
turns, call by call, on a list of 140 tasks. The table shows the median, the lowest and the highest of the medians of
the servers, in ms, and the ratio. Two servers of the same code may differ by about 8 %, so one pair proves nothing. The
exit code is 1 when a server does not answer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.client import ROOT, Connection, NotMeasurable
from benchmarks.data.tasks import tasks_file
from benchmarks.goals import TASK_CALLS
from benchmarks.peers.servers import Server, Session
from benchmarks.scenarios.start import TASK

COUNT = 140
CALLS = 20  # calls of each kind per round; each changes another task
ROUNDS = 6

Times = dict[str, list[float]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkouts", nargs=2, metavar="CHECKOUT", help="the code before, and after")
    parser.add_argument("--pairs", type=int, default=12, help="pairs of servers (default: 12)")
    parser.add_argument("--folder", default=str(ROOT / ".cache"), help="folder of the projects (default: .cache)")
    given = parser.parse_args()
    for checkout in given.checkouts:
        if not Path(checkout, "nexus_mcp", "__init__.py").exists():  # otherwise the installed package would be measured
            parser.error(f"there is no package nexus_mcp in {checkout}")
    os.makedirs(given.folder, exist_ok=True)
    found: tuple[Times, Times] = ({}, {})
    try:
        for turn in range(given.pairs):
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                _pair(folder, given.checkouts, found, turn)
    except NotMeasurable as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 1
    print(f"{'call':12}  {'before (ms)':>24}  {'after (ms)':>24}  {'ratio':>6}")
    for tool in TASK_CALLS:
        before, after = (statistics.median(times[tool]) for times in found)
        told = [f"{statistics.median(t[tool]):.3f} ({min(t[tool]):.3f} to {max(t[tool]):.3f})" for t in found]
        print(f"{tool:12}  {told[0]:>24}  {told[1]:>24}  {after / before:6.3f}")
    return 0


def _pair(folder: str, checkouts: list[str], found: tuple[Times, Times], turn: int) -> None:
    """Add the medians of a server of each checkout to `found`; `turn` decides which server starts first."""
    with ExitStack() as stack:
        sessions: list[tuple[Path, Session, Times, Times]] = []
        for number in (0, 1) if turn % 2 else (1, 0):
            root = Path(folder, str(number))
            (root / ".git").mkdir(parents=True)
            (root / ".nexus/state").mkdir(parents=True)
            command = (sys.executable, "-P", "-m", "nexus_mcp", "serve")
            extra = {"PYTHONPATH": os.path.abspath(checkouts[number])}
            connection = Connection(command, root, extra)
            session = stack.enter_context(Session(Server(checkouts[number], command), connection))
            session.ready()
            sessions.append((root, session, {tool: [] for tool in TASK_CALLS}, found[number]))
        for _ in range(ROUNDS):
            for root, session, _, _ in sessions:
                (root / ".nexus/state/tasks.json").write_bytes(tasks_file(COUNT))
                session.call("task_list")
            os.sync()
            for number in range(1, CALLS + 1):
                for _, session, times, _ in sessions:
                    times["task_add"].append(session.call("task_add", **TASK)[0])
                    times["task_update"].append(session.call("task_update", id=number, status="in_progress")[0])
                    times["task_list"].append(session.call("task_list")[0])
        for _, _, times, medians in sessions:
            for tool, values in times.items():
                medians.setdefault(tool, []).append(statistics.median(values))


if __name__ == "__main__":
    sys.exit(main())
