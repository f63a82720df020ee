"""Watch the end of a child process, and kill it with everything that it started.

The child is not reaped when it ends, so that its pid stays its own until its family is gone. Where the system cannot
report an end without reaping (macOS before Python 3.13), the child is reaped at once. Its pid is then free for a
moment, but such a system gives out pids in turn, so no other process gets it that soon.

A process that forks twice, leaves its session and clears its environment has no trace of the server that started it. An
orphan is a process whose parent is gone. Within `adopt_orphans`, Linux makes an orphan of the run a child of this
process, instead of a child of process 1.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator

    import psutil

_INTERVAL = 0.02
MARK = "CONFORMANCE_TARGET"
"""A variable in the environment of each process of a target, to find those that left their session and their parent."""
_ROUNDS = 20
_SECONDS = 1.0
"""Seconds that killed processes get to disappear, in each round."""
_POLL = 0.0005
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


class Death:
    """Watch the child `popen`; `on_death` is called once, in the event loop, unless `end` came first.

    `is_dead` is true when the child was seen to have ended. `description` then says how, such as "exited with code 3"
    or "was ended by SIGSEGV", and `code` is its exit code, negative for a signal.
    """

    def __init__(self, popen: subprocess.Popen[bytes], on_death: Callable[[], None]) -> None:
        self.is_dead = False
        self.description = ""
        self.code = 0
        self._popen = popen
        self._on_death = on_death
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._fd = -1
        try:
            self._fd = os.pidfd_open(popen.pid)
        except (AttributeError, OSError):  # not supported here: poll
            self._timer = self._loop.call_later(_INTERVAL, self._look)
        else:
            self._loop.add_reader(self._fd, self._look)

    async def wait(self, seconds: float) -> None:
        """Wait until the child is dead or no longer watched, at most for `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._done.wait()

    def end(self) -> None:
        """Stop watching, and wake everything that waits."""
        self._done.set()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        code = _code(self._popen)
        if code is None:
            self._timer = self._loop.call_later(_INTERVAL, self._look) if self._fd < 0 else None
            return
        self.is_dead = True
        self.code = code
        self.description = _describe_exit(code)
        self.end()
        self._on_death()


class Family:
    """The family of one process: all processes that it or its descendants started.

    Create it before that process: all pids that exist already are excluded.
    """

    def __init__(self, mark: str) -> None:
        import psutil

        self._mark = mark
        self._excluded = frozenset(psutil.pids())
        self._known: set[psutil.Process] = set()

    def living(self, pid: int) -> set[psutil.Process]:
        """Return the living family of `pid`, without `pid` itself: its descendants, the members of its session, the
        processes with the mark, and its orphans (see `find_orphans`).

        `pid` must not have been reaped, or another process may have its number. A descendant found earlier still counts
        after its parent died.
        """
        import psutil

        candidates = {}
        for number in psutil.pids():
            if number not in self._excluded and number != pid:
                with suppress(psutil.Error):
                    candidates[number] = psutil.Process(number)
        self._known.update(_descendants(pid, candidates))
        for number, process in candidates.items():
            if _session(number) == pid or _bears(number, (f"{MARK}={self._mark}",)):
                self._known.add(process)
        self._known |= find_orphans(pid)
        self._known = {process for process in self._known if _lives(process)}
        return set(self._known)

    def kill(self, pid: int) -> None:
        """Kill `pid`, a session leader that was not reaped, and its family. Return when they are gone, or after
        _ROUNDS rounds.

        Each round lists the family again, because a process may start a child while it dies.
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


def kill_marked(run: str) -> None:
    """Kill every process but this one whose mark is `run`, or begins with `run` and a dot."""
    import psutil

    for process in living_marked(run):
        with suppress(psutil.Error):
            process.kill()


def living_marked(run: str) -> list[psutil.Process]:
    """Return every process but this one whose mark is `run`, or begins with `run` and a dot."""
    import psutil

    found = []
    for pid in psutil.pids():
        if pid != os.getpid() and _bears(pid, (f"{MARK}={run}",), f"{MARK}={run}."):
            with suppress(psutil.Error):
                found.append(psutil.Process(pid))
    return found


def format_names(processes: Iterable[psutil.Process]) -> str:
    """Return name and pid of each process, as a report shows them."""
    import psutil

    found = []
    for process in sorted(processes, key=lambda one: int(one.pid)):
        name = "?"
        with suppress(psutil.Error):
            name = process.name()
        found.append(f"{name} [{process.pid}]")
    return ", ".join(found)


@contextmanager
def adopt_orphans() -> Iterator[None]:
    """Within the block, adopt the orphans of the run as children of this process; at its end, kill those that live.

    Do nothing inside another such block, and on a system that does not support this.
    """
    import psutil

    inner = _nursery.before is not None
    was = _subreaper()
    if inner or was is None or not _become_subreaper(1):
        yield
        return
    _nursery.before = frozenset(psutil.pids())
    try:
        yield
    finally:
        for process in _reap_adopted():
            with suppress(psutil.Error):
                process.kill()
            with suppress(ChildProcessError):
                os.waitpid(process.pid, 0)
        _nursery.before = None
        _become_subreaper(was)


def add_server(pid: int) -> None:
    """Record a process of the run: it is a child, but not an orphan. Call this before anything is awaited."""
    _nursery.servers[pid] = _age(pid)


def remove_server(pid: int) -> None:
    """Forget a process of the run, which has ended."""
    _nursery.servers.pop(pid, None)


def find_orphans(pid: int) -> set[psutil.Process]:
    """Return the living orphans that only the server `pid` can have started: no other living server is older than they
    are.

    An orphan that several living servers may have started counts for none of them. An orphan with a mark counts for
    none either: `Family.living` finds it by its mark, and an agent may outlive a killed executor.
    """
    found = set()
    for process in _reap_adopted():
        if _bears(process.pid, (), f"{MARK}="):
            continue
        with suppress(ProcessLookupError):
            born = _age(process.pid)
            if [server for server, start in _nursery.servers.items() if start <= born] == [pid]:
                found.add(process)
    return found


def _code(popen: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code of a child, negative for a signal, None while it runs."""
    if not hasattr(os, "waitid"):
        return popen.poll()
    state = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if state is None:
        return None
    return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


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
    """Return when all are dead, at the latest after _SECONDS. A zombie counts as dead: it may never be reaped."""
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
    """Return whether the initial environment of a process has one of `marks`, texts such as "NAME=value", or a variable
    whose text begins with `beginning`; False when the environment cannot be read.
    """
    # psutil would take ten times as long.
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            items = os.fsdecode(file.read()).split("\0")
    except OSError:
        return False
    return any(item in marks or (beginning and item.startswith(beginning)) for item in items)


class _Nursery:
    """`before` has the pids that existed when the adoption of orphans began. It is None before and after adoption."""

    def __init__(self) -> None:
        self.before: frozenset[int] | None = None
        self.servers: dict[int, float] = {}
        """Pid of each process between `add_server` and `remove_server` -> its start time in seconds since the epoch."""


_nursery = _Nursery()


def _reap_adopted() -> list[psutil.Process]:
    """Return the living children that the run did not start, and reap the dead ones, which no other code reaps."""
    import psutil

    if _nursery.before is None:
        return []
    found = []
    for pid in _children() - _nursery.before - _nursery.servers.keys():
        with suppress(psutil.Error, ProcessLookupError, ChildProcessError):
            # A process in our session was started by this process: a server and its children are in another session.
            if os.getsid(pid) == os.getsid(0):
                continue
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(pid, os.WNOHANG)
            else:
                found.append(process)
    return found


def _children() -> set[int]:
    """Return the children of all threads of this process."""
    found: set[int] = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            with suppress(ProcessLookupError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                found.update(map(int, file.read().split()))
    except FileNotFoundError:  # a thread that just ended, or a system without such files
        import psutil

        return {process.pid for process in psutil.Process().children()}
    return found


def _age(pid: int) -> float:
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return time.time()


def _become_subreaper(value: int) -> bool:
    import ctypes

    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) == 0)


def _subreaper() -> int | None:
    """Return 1 if this process adopts orphans already, else 0; None if the system does not support this."""
    import ctypes
    import sys

    if sys.platform != "linux":
        return None
    value = ctypes.c_int()
    done = ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    return value.value if done == 0 else None
