"""A real process under strace: record its system calls, then repeat them with one of them disturbed.

The process is a fork of this one, with one thread: strace counts for each thread. It stops itself before the call, so
that strace, which costs 15 ms where a new Python would cost 100, sees the call and nothing else.
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
# What CPython asks for now and then, for itself: not the same in each run, and without any effect on a file. A kill
# before one of these leaves what a kill before the next other call leaves.
_OWN = frozenset({"brk", "mmap", "munmap", "mremap", "madvise", "mprotect", "futex", "rt_sigreturn", "restart_syscall"})
_SEND = "sendto"  # how the answer goes out: by a call that nothing else makes
_PR_SET_PTRACER = 0x59616D61


# Calls in which an error can keep a file from being changed. Not close: strace would leave the file open, as no kernel
# does, and with it the lock; simulated.py covers it.
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
    """One system call as strace shows it; it was the `when`-th of its name."""

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
    """Disturbs calls of real processes. `folder` is for the notes of strace."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "strace.log"
        self._recorded: list[SystemCall] = []

    def kill_points(self, case: Case) -> list[Point]:
        """The system calls before which a call of the tool can be killed, the last one ending the process."""
        case.prepare()
        case.perform()  # here first: the runs, which are forks, then all begin with the same imported
        case.prepare()
        self._recorded = run(case.perform, self._log).calls
        return [Point(number, call.name, call.text) for number, call in enumerate(self._recorded, 1)]

    def kill(self, case: Case, point: Point) -> Ended:
        """The call of the tool, killed before `point`. Raise Untraceable when it was killed elsewhere."""
        case.prepare()
        call = self._recorded[point.number - 1]
        trace = run(case.perform, self._log, f"{call.name}:signal=KILL:when={call.when}")
        names = [seen.name for seen in trace.calls]
        if trace.killed and names != [seen.name for seen in self._recorded[: point.number]]:
            raise Untraceable(f"killed elsewhere than before {call.text}: {names[-3:]} at {len(names)}")
        if trace.killed and bool(trace.sent) != (_SEND in names[:-1]):
            raise Untraceable(f"{call.text} was not kept from acting")
        return Ended(trace.sent, reached=trace.killed)

    def error_points(self, case: Case, code: int) -> list[Point]:
        """The system calls about files, from the beginning of a call of the tool to its end."""
        return [point for point in self.kill_points(case) if point.name in _ABOUT_FILES]

    def fail(self, case: Case, point: Point, code: int, *, lasting: bool) -> Ended:
        """The call of the tool, `point` failing with `code`; `lasting`: all later calls of that name, too."""
        case.prepare()
        call = self._recorded[point.number - 1]
        inject = f"{call.name}:error={errno.errorcode[code]}:when={call.when}{'+' * lasting}"
        trace = run(case.perform, self._log, inject)
        return Ended(trace.sent, reached=any("(INJECTED)" in seen.text for seen in trace.calls))


_Work = Callable[[Callable[[bytes], object]], object]
"""Gets the function that sends an answer out."""


def run(work: _Work, log: Path, inject: str = "") -> Trace:
    """`work` in a process of its own, under strace, which writes `log`; `inject` as its option of that name.

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
    """Whether strace is there and may trace: a container can forbid it."""
    if shutil.which("strace") is None:
        return False
    try:
        return bool(run(lambda send: send(b"."), Path(os.devnull)).sent)
    except Untraceable:
        return False


def _live(work: _Work, its: socket.socket) -> None:
    """The whole life of the traced process; does not return."""
    code = 1
    try:
        try:
            # Where only parents may trace (Yama): strace is a sibling.
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.path.lexists(_MARK)
            work(its.send)
            code = 0
        except Exception as error:  # noqa: BLE001 - told to the parent, which fails
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
    """The calls after the mark. Those before it count for `when`, as strace counts them."""
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
