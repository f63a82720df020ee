"""Run a real process under strace: record its system calls, then repeat the run with one of them disturbed.

The process is a fork of this one with one thread, because strace counts calls for each thread. It stops itself before
the tool call, and strace attaches to it there: this takes 15 ms, where starting a new Python would take 100 ms.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.reliability.suites.one_call.points import Case, Ended, Point

_MARK = "/nexus-mcp-begins-here"
_LINE = re.compile(r"(\w+)\(")
# System calls of CPython itself, which differ between runs and affect no file. A kill before one of these leaves the
# same files as a kill before the next other call.
_OWN = frozenset({"brk", "mmap", "munmap", "mremap", "madvise", "mprotect", "futex", "rt_sigreturn", "restart_syscall"})
_SEND = "sendto"  # the system call that sends the answer; nothing else uses it
_PR_SET_PTRACER = 0x59616D61


# Calls whose error can prevent the change of a file. close is left out: a close that strace lets fail leaves the file
# and its lock open, unlike a real one. simulated.py covers close.
_ABOUT_FILES = frozenset(
    {
        *(
            "openat",
            "read",
            "pread64",
            "write",
            "pwrite64",
            "copy_file_range",
            "utimensat",
            "ftruncate",
            "fsync",
            "fdatasync",
            "flock",
            "fchmod",
            "fcntl",
        ),
        *("rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "getdents64"),
        *("stat", "fstat", "lstat", "newfstatat", "statx"),
    }
)


class Untraceable(Exception):
    """strace failed."""


@dataclass(frozen=True)
class SystemCall:
    """One system call as strace shows it: the `when`-th call with its name."""

    name: str
    when: int
    text: str


@dataclass(frozen=True)
class Trace:
    """The system calls of a run in their order, the data it sent, and whether it was killed."""

    calls: list[SystemCall]
    sent: bytes
    killed: bool


class Traced:
    """A lever that disturbs calls of real processes. `folder` is for the logs of strace."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "strace.log"
        self._recorded: list[SystemCall] = []

    def kill_points(self, case: Case) -> list[Point]:
        """Return the system calls before which a call of the tool can be killed; the last one ends the process."""
        case.prepare()
        case.perform()  # imports all modules here, so that all forks begin with the same ones
        case.prepare()
        self._recorded = run(case.perform, self._log).calls
        return [Point(number, call.name, call.text) for number, call in enumerate(self._recorded, 1)]

    def kill(self, case: Case, point: Point) -> Ended:
        """Make the call of the tool, and kill it before `point`. Raise Untraceable when it was killed elsewhere."""
        case.prepare()
        call = self._recorded[point.number - 1]
        trace = run(case.perform, self._log, f"{call.name}:signal=KILL:when={call.when}")
        names = [seen.name for seen in trace.calls]
        if trace.killed and names != [seen.name for seen in self._recorded[: point.number]]:
            raise Untraceable(f"killed elsewhere than before {call.text}: {names[-3:]} at {len(names)}")
        if trace.killed and bool(trace.sent) != (_SEND in names[:-1]):
            raise Untraceable(f"{call.text} was carried out")
        return Ended(trace.sent, reached=trace.killed)

    def error_points(self, case: Case, code: int) -> list[Point]:
        """Return the system calls about files that a call of the tool makes."""
        return [point for point in self.kill_points(case) if point.name in _ABOUT_FILES]

    def fail(self, case: Case, point: Point, code: int, *, lasting: bool) -> Ended:
        """Make the call of the tool; let `point` fail with `code`, and with `lasting` all later calls of that name."""
        case.prepare()
        call = self._recorded[point.number - 1]
        inject = f"{call.name}:error={errno.errorcode[code]}:when={call.when}{'+' * lasting}"
        trace = run(case.perform, self._log, inject)
        return Ended(trace.sent, reached=any("(INJECTED)" in seen.text for seen in trace.calls))


_Work = Callable[[Callable[[bytes], object]], object]
"""The work of the traced process: its argument is the function that sends an answer."""


def run(work: _Work, log: Path, inject: str = "") -> Trace:
    """Run `work` in a process of its own under strace, which writes `log` and gets `inject` as its option --inject.

    Raise Untraceable, also when the process ends with an error.
    """
    ours, its = socket.socketpair()
    with ours, its:
        pid = os.fork()
        if pid == 0:
            _live(work, its)
        its.close()
        try:
            os.waitpid(pid, os.WUNTRACED)
            tracer = _attached(pid, log, inject)
            os.kill(pid, signal.SIGCONT)
            sent = b"".join(iter(lambda: ours.recv(1 << 16), b""))
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        _, status = os.waitpid(pid, 0)
        with tracer:
            tracer.communicate()
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if not killed and status != 0:
        raise Untraceable(f"the process ended with {os.waitstatus_to_exitcode(status)}: {sent[-500:]!r}")
    return Trace(_calls(log), sent, killed)


@cache
def usable() -> bool:
    """Return whether strace is installed and may trace, which a container can forbid."""
    if shutil.which("strace") is None:
        return False
    try:
        return bool(run(lambda send: send(b"."), Path(os.devnull)).sent)
    except Untraceable:
        return False


def _live(work: _Work, its: socket.socket) -> None:
    """Run in the traced process, and exit."""
    code = 1
    try:
        try:
            # Yama may allow only parents to trace, and strace is a sibling.
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.path.lexists(_MARK)
            work(its.send)
            code = 0
        except Exception as error:  # noqa: BLE001 - the parent reports it
            its.send(repr(error).encode())
    finally:
        os._exit(code)


def _attached(pid: int, log: Path, inject: str) -> subprocess.Popen[str]:
    command = ["strace", "-y", "-a", "1", "-s", "48", "-o", str(log), "-p", str(pid)]
    tracer = subprocess.Popen(
        [*command, "-e", f"inject={inject}"] if inject else command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    told = tracer.stderr.readline() if tracer.stderr else ""
    if "attached" not in told:
        with tracer:
            told += tracer.communicate()[1]
        raise Untraceable(f"strace does not attach: {told}")
    return tracer


def _calls(log: Path) -> list[SystemCall]:
    """Return the calls after the mark. The calls before it count for `when`, because strace counts them, too."""
    seen: dict[str, int] = {}
    calls: list[SystemCall] = []
    begun = False
    for line in log.read_text(errors="replace").splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        name = found[1]
        seen[name] = seen.get(name, 0) + 1
        if begun and name not in _OWN:
            calls.append(SystemCall(name, seen[name], line))
        begun = begun or _MARK in line
    return calls
