"""Run commands in forks of one process that has already imported the program, to save their imports.

For commands whose imports are not what a test is about. `python -m tests.forked_commands FD MODULE...` is that process.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent
_LONGEST = 1 << 20  # bytes of a request: the words of a command, and an environment
_MOST = 8  # descriptors of a request


class Ran(NamedTuple):
    """The result of a process: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


def warm(
    module: str,
    arguments: Sequence[str],
    *,
    preload: tuple[str, ...],
    cwd: Path | None,
    env: Mapping[str, str],
    limit: float,
    stdin: str = "",
    joined: bool = False,
    other_tree: bool = False,
) -> Ran:
    """`python -m module arguments` with pipes at all three ends; `joined`: what it says on stderr is in `out`.

    `other_tree`: the program and its tests are those in `cwd`, so nothing of them may be in `preload`.
    """
    asked = _process(preload)
    asked.settimeout(limit)
    ends = [os.pipe() for _ in range(3)]
    (reads, writes), (out, into), (err, onto) = ends
    request: dict[str, Any] = {"module": module, "arguments": list(arguments), "cwd": str(cwd or Path.cwd())}
    request |= {"env": dict(env), "other_tree": other_tree}
    socket.send_fds(asked, [json.dumps(request).encode()], [reads, into, into if joined else onto])
    for fd in (reads, into, onto):
        os.close(fd)
    with ThreadPoolExecutor(2) as readers:
        said = [readers.submit(_all, fd) for fd in (out, err)]
        with suppress(BrokenPipeError), open(writes, "w", encoding="utf-8") as given:
            given.write(stdin)
        code = int(asked.recv(16) or 1)  # nothing where a module could not be imported: the process said why
        return Ran(code, *(one.result(limit) for one in said))


class Started:
    """A command under way, `python -m module arguments` with pipes at all three ends, as subprocess.Popen has it.

    It has the descriptors `passed` under the numbers from 3 on.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        preload: tuple[str, ...],
        env: Mapping[str, str],
        passed: Sequence[int] = (),
    ) -> None:
        (reads, stdin), (stdout, into), (stderr, onto), (self._report, report) = [os.pipe() for _ in range(4)]
        request = {"module": module, "arguments": list(arguments), "cwd": str(Path.cwd()), "env": dict(env)}
        given = [reads, into, onto, *passed, report]
        socket.send_fds(_process(preload), [json.dumps({**request, "reports": True}).encode()], given)
        for fd in (reads, into, onto, report):
            os.close(fd)
        self.stdin, self.stdout, self.stderr = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb")
        self.pid = int(os.read(self._report, 16))
        self._code: int | None = None

    def send_signal(self, number: int) -> None:
        """Send it a signal. Its number stands for it until its end was waited for."""
        os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """Its exit code, or the number of its signal below zero. Raises TimeoutError."""
        if self._code is None:
            ready, _, _ = select.select([self._report], [], [], timeout)
            if not ready:
                raise TimeoutError(f"process {self.pid} has not ended")
            self._code = int(os.read(self._report, 16))
            os.close(self._report)
        return self._code


def _all(fd: int) -> str:
    with open(fd, encoding="utf-8") as stream:
        return stream.read()


@cache
def _process(preload: tuple[str, ...]) -> socket.socket:
    """The process with these modules; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked_commands", str(theirs.fileno()), *preload],
        pass_fds=(theirs.fileno(),),
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def main(fd: int, preload: Sequence[str]) -> int:
    for name in preload:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what was imported is no garbage: a command, and pytest at its end, would look through it again
    asked = socket.socket(fileno=fd)
    asked.set_inheritable(False)
    watchers: list[int] = []
    while True:
        watchers = [pid for pid in watchers if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        data, fds, _, _ = socket.recv_fds(asked, _LONGEST, _MOST)
        if not data:
            return 0
        request = json.loads(data)
        pid = os.fork()
        if pid == 0:
            asked.close()
            if request.get("reports"):
                _report(fds)
            return _run(request, fds)
        for end in fds:
            os.close(end)
        if request.get("reports"):
            watchers.append(pid)
            continue
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        asked.send(str(code).encode())


def _report(fds: list[int]) -> None:
    """Return in a fork, of which this process says the pid and in the end the code; takes the last descriptor away."""
    report = fds.pop()
    pid = os.fork()
    if pid == 0:
        os.close(report)
        return
    for fd in fds:
        os.close(fd)
    os.write(report, str(pid).encode())
    os.write(report, str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
    os._exit(0)


def _run(request: dict[str, Any], fds: Sequence[int]) -> int:
    """The life of a fork: it ends as the interpreter does."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    # Whatever this process was started with, a command finds pipes; they stay open to its end, as the standard ones do.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = [request["module"], *request["arguments"]]
    sys.path[0] = request["cwd"]
    if request.get("other_tree"):
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:  # this file is of this tree
            del sys.modules[name]
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        return 0
    called: Callable[[], int] = importlib.import_module(request["module"]).main
    return called()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
