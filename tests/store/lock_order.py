"""Processes that take the workspace lock again and again, and the order in which they get it.

    python -m tests.store.lock_order [PROCESSES] [TURNS] [THINK]

Each process takes the lock TURNS times, holds it for a millisecond, and then waits for THINK ms. The output says how
long the processes waited for the lock, and how often turns of others, requested at least a millisecond later, came
first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

LATER = 0.001  # seconds; requests closer together count as simultaneous
HELD = 0.001
_TAKER = """
import sys, time
from nexus_mcp.store import lock
from nexus_mcp.store.folder import Folder

turns, think, held = int(sys.argv[2]), float(sys.argv[3]) / 1000, float(sys.argv[4])
with Folder.root(sys.argv[1]) as state:
    print(flush=True)
    sys.stdin.read()
    for _ in range(turns):
        came = time.monotonic()
        with lock.acquire(state):
            began = time.monotonic()
            time.sleep(held)
        print(came, began)
        time.sleep(think)
"""


@dataclass(frozen=True, order=True)
class Turn:
    """The time at which a process got the lock, and the time at which it requested the lock."""

    began: float
    came: float

    def passed_by(self, earlier: list[Turn]) -> int:
        """Return the number of turns that were requested later and granted earlier."""
        return sum(other.came > self.came + LATER for other in earlier)


def take_turns(folder: Path, processes: int, turns: int, think: float) -> list[Turn]:
    """Return all turns in their order. Fails if a process does not get one of its turns."""
    words = [sys.executable, "-c", _TAKER, str(folder), str(turns), str(think), str(HELD)]
    running = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()  # it is ready
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    printed = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return sorted(
        Turn(float(began), float(came)) for text in printed for came, began in map(str.split, text.splitlines())
    )


def describe(turns: list[Turn]) -> str:
    """Return the figures of these turns as text."""
    waits = sorted(1000 * (turn.began - turn.came) for turn in turns)
    passed = [turn.passed_by(turns[:number]) for number, turn in enumerate(turns)]
    return (
        f"{len(turns)} turns; wait in ms: median {waits[len(waits) // 2]:.1f}, 99th percentile "
        f"{waits[len(waits) * 99 // 100]:.1f}, maximum {waits[-1]:.1f}; overtaken by later requests: "
        f"{100 * sum(map(bool, passed)) / len(passed):.0f} % of the turns, by at most {max(passed)}"
    )


if __name__ == "__main__":
    given = [*map(float, sys.argv[1:]), *(8, 400, 0.5)[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as place:
        print(describe(take_turns(Path(place), int(given[0]), int(given[1]), given[2])))
