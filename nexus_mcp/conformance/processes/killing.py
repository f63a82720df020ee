"""Ending a process together with everything that it started."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.processes import orphans

if TYPE_CHECKING:
    from collections.abc import Iterable

    import psutil

MARK = "CONFORMANCE_TARGET"
"""A variable in the environment of every process of a run: it finds those that left their session and their parent."""

_ROUNDS = 20
_SECONDS = 1.0
_POLL = 0.0005


class Family:
    """The processes that come from one. To be made before that one is: whatever is there already is none of them."""

    def __init__(self, mark: str) -> None:
        import psutil

        self._mark = mark
        self._strangers = frozenset(psutil.pids())
        self._known: set[psutil.Process] = set()

    def living(self, pid: int) -> set[psutil.Process]:
        """Those alive: descendants of `pid`, members of its session, bearers of the mark. Not `pid` itself.

        `pid` must not have been reaped, or its number may be somebody else's by now. One that was a descendant when
        last asked for is still one after its parent died.
        """
        import psutil

        candidates = {}
        for number in psutil.pids():
            if number not in self._strangers and number != pid:
                with suppress(psutil.Error):
                    candidates[number] = psutil.Process(number)
        self._known.update(_descendants(pid, candidates))
        for number, process in candidates.items():
            if _session(number) == pid or _bears(number, (f"{MARK}={self._mark}",)):
                self._known.add(process)
        self._known |= orphans.of(pid)
        self._known = {process for process in self._known if _lives(process)}
        return set(self._known)

    def kill(self, pid: int) -> None:
        """Kills `pid`, a session leader that was not reaped, and its family. Returns when they are gone.

        Looks again after each round, for a process may be born while its parent dies.
        """
        import psutil

        doomed = self.living(pid)
        for _ in range(_ROUNDS):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            for process in doomed:
                with suppress(psutil.Error):
                    process.kill()
            _wait(doomed)
            doomed = self.living(pid)
            if not doomed:
                return


def sweep(run: str) -> None:
    """Kills whatever bears the mark `run`, or one that begins with it and a dot."""
    import psutil

    for pid in psutil.pids():
        if pid != os.getpid() and _bears(pid, (f"{MARK}={run}",), f"{MARK}={run}."):
            with suppress(psutil.Error):
                psutil.Process(pid).kill()


def names(processes: Iterable[psutil.Process]) -> str:
    """The processes as a report names them: name and number."""
    import psutil

    found = []
    for process in sorted(processes, key=lambda one: int(one.pid)):
        name = "?"
        with suppress(psutil.Error):
            name = process.name()
        found.append(f"{name} [{process.pid}]")
    return ", ".join(found)


def _descendants(pid: int, candidates: dict[int, psutil.Process]) -> list[psutil.Process]:
    import psutil

    children: dict[int, list[int]] = {}
    for number, process in candidates.items():
        with suppress(psutil.Error):
            children.setdefault(process.ppid(), []).append(number)
    found, waiting = [], [pid]
    while waiting:
        waiting = [child for parent in waiting for child in children.pop(parent, ())]
        found += [candidates[child] for child in waiting]
    return found


def _wait(processes: Iterable[psutil.Process]) -> None:
    """Returns when all are dead, at the latest after _SECONDS. Who reaps them, and whether anybody does, is open."""
    deadline = time.monotonic() + _SECONDS
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(_POLL)


def _lives(process: psutil.Process) -> bool:
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _bears(pid: int, marks: tuple[str, ...], beginning: str = "") -> bool:
    """Whether the environment that a process was started with has one of these; False when it may not be seen."""
    # By hand where it can be: psutil takes ten times as long.
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            items = os.fsdecode(file.read()).split("\0")
    except OSError:
        return False
    return any(item in marks or (beginning and item.startswith(beginning)) for item in items)
