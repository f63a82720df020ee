"""Record a history with a fixed order: one process pauses while another one makes its calls."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from pathlib import Path

from tests.reliability.suites import points
from tests.reliability.suites.linearizable.recording import Recorder
from tests.reliability.suites.linearizable.worker import Call, Worker


def stall(recorder: Recorder, root: Path, number: int, first: Sequence[Call], second: Sequence[Call]) -> bool:
    """Pause the first process before its system call `number` until the second one has ended or waits for a lock.

    Return whether the first process reached that call."""
    report, says = os.pipe()
    waits, go = os.pipe()
    start, starts = os.pipe()
    os.close(starts)

    def stands() -> None:
        points.before_calls(points.standing(number, says, waits))

    one = Worker(recorder.new(), root, first, start, hook=stands, keep=(says, waits))
    stood = _reports(one, report)
    two = Worker(recorder.new(), root, second, start, hook=lambda: points.reporting_waits(says), keep=(says,))
    _reports(two, report)
    os.close(go)
    for worker in (one, two):
        recorder.end(worker, kill=False)
    for fd in (report, says, waits, start):
        os.close(fd)
    return stood


def _reports(worker: Worker, report: int) -> bool:
    """Wait until a process reports (True), or the worker has ended."""
    while True:
        ready, _, _ = select.select([worker.out, report], [], [])
        if report in ready:
            os.read(report, 1)
            return True
        if worker.listen():
            return False
