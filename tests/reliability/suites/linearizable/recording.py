"""Record a history: several processes work on one project, and some are killed and started again."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.reliability.suites import points
from tests.reliability.suites.linearizable.history import Death, History, Op, compared
from tests.reliability.suites.linearizable.worker import Call, Worker
from tests.store.crash_points import CALLS

_OBSERVER = 0  # the number of the process that reads everything at the end
FINALLY: tuple[Call, ...] = (("history_search", {"last_n": 1000}), ("plan_status", {}), ("task_list", {}))


@dataclass(frozen=True)
class Fate:
    """The death of a process: before its system call number `at_call`, from 1, among those with a name in `of`, or
    `delay` seconds after its report number `lines`."""

    at_call: int = 0
    of: Sequence[str] = CALLS
    lines: int = 0
    delay: float = 0.0


@dataclass(frozen=True)
class Script:
    """The calls of one process, its death (None for none), the share of its system calls that yield, and whether its
    client continues after its death."""

    calls: Sequence[Call]
    fate: Fate | None = None
    yields: float = 0.0
    goes_on: bool = True


class Recorder:
    """Run scripts at once on the project at `root`. `faults` are processes that ended early without a kill."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self._root = root
        self._rng = rng
        self._workers = _OBSERVER
        self.history = History()
        self.faults: list[str] = []
        self.kills = 0

    def run(self, scripts: Sequence[Script]) -> None:
        """Start all processes, release them at once, and restart a killed one with its remaining calls."""
        start, go = os.pipe()
        running = [(self._begin(script, start), script) for script in scripts]
        os.close(go)
        while running:
            ended = _wait(running)
            for each in ended:
                running.remove(each)
                rest = self._end(*each)
                if rest and each[1].goes_on:
                    running.append((self._begin(Script(rest), start), Script(rest)))
        os.close(start)

    def finish(self) -> History:
        """Read everything in a last process, and return the whole history."""
        app = App(Workspace(str(self._root)))
        for tool, arguments in FINALLY:
            began = time.monotonic_ns()
            answer = app.call(tool, arguments)
            content = compared(answer.result["structuredContent"])
            self.history.ops.append(Op(_OBSERVER, tool, arguments, began, time.monotonic_ns(), content))
        path = self._root / ".nexus" / "history.json"
        cycles = json.loads(path.read_bytes())["cycles"] if path.exists() else []
        self.history.stamps = tuple(cycle["completed_at"] for cycle in cycles)
        return self.history

    def new(self) -> int:
        """Return a number for a process."""
        self._workers += 1
        return self._workers

    def end(self, worker: Worker, *, kill: bool) -> list[Op]:
        """Kill the process, or wait for its end, and record its calls."""
        # A process that was not killed here has killed itself, at some time after its last report.
        earliest = time.monotonic_ns() if kill else max((line["at"] for line in worker.lines), default=0)
        if kill:
            os.kill(worker.pid, signal.SIGKILL)
        killed = worker.close() == -signal.SIGKILL
        ops = worker.ops(killed=killed)
        self.history.ops += ops
        if killed:
            self.kills += 1
            self.history.deaths[worker.number] = Death(earliest, time.monotonic_ns())
        elif len(ops) < len(worker.calls):
            self.faults.append(f"P{worker.number} ended without a kill after {len(ops)} of {len(worker.calls)} calls")
        return ops

    def _begin(self, script: Script, start: int) -> Worker:
        seed = self._rng.random()

        def hook() -> None:
            if script.yields:
                points.before_calls(points.yielding(random.Random(seed), script.yields))
            if script.fate is not None and script.fate.at_call:
                points.before_calls(points.dying(script.fate.at_call), names=script.fate.of)

        return Worker(self.new(), self._root, script.calls, start, hook=hook)

    def _end(self, worker: Worker, script: Script) -> list[Call]:
        """Return the calls that a killed process did not reach, as its client would continue."""
        ops = self.end(worker, kill=script.fate is not None and not script.fate.at_call)
        left = list(worker.calls[len(ops) :])
        if not ops or ops[-1].answer is not None or ops[-1].tool != "task_close":
            return left
        return [("task_close", {}), *left]


def _wait(running: list[tuple[Worker, Script]]) -> list[tuple[Worker, Script]]:
    """Wait until a process has ended or has to be killed; return the processes for which that holds."""
    due: dict[int, float] = {}
    while True:
        now = time.monotonic()
        for worker, script in running:
            fate = script.fate
            if fate is not None and not fate.at_call and len(worker.lines) >= fate.lines and worker.number not in due:
                due[worker.number] = now + fate.delay
        over = [each for each in running if due.get(each[0].number, now) < now]
        if over:
            return over
        pause = min(due.values(), default=now + 1) - now
        by_descriptor = {each[0].out: each for each in running}
        ready, _, _ = select.select([*by_descriptor], [], [], max(0.0, pause))
        ended = [by_descriptor[fd] for fd in ready if by_descriptor[fd][0].listen()]
        if ended:
            return ended
