"""Run a hook or a server in a fork of this process, and measure its time and memory."""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nexus_mcp.cli import main

HANGS_S = 20.0
"""Seconds after which a process counts as hung, however busy the machine is."""
HANGS_CPU_S = 6
"""Seconds of CPU time after which a process counts as hung: ten times the limit of a hook."""


@dataclass(frozen=True)
class Ran:
    """The result of a process. `cpu_s` is its CPU time, which other processes do not affect."""

    code: int
    out: bytes
    cpu_s: float
    wall_s: float


def run(words: list[str], stdin: bytes, folder: Path, before: Callable[[], object] = bool) -> Ran | None:
    """Call `before()`, then run `nexus-mcp WORDS` with these bytes on stdin; return None if it hung and was killed."""
    given, taken = folder / "stdin", folder / "stdout"
    given.write_bytes(stdin)
    reads, writes = os.pipe()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        _become(words, given, taken, before)
    os.close(writes)
    hangs = not select.select([reads], [], [], HANGS_S)[0]
    os.close(reads)
    if hangs:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if hangs or code == -signal.SIGXCPU:
        return None
    wall = time.monotonic() - start
    return Ran(code, taken.read_bytes(), usage.ru_utime + usage.ru_stime, wall)


def _become(words: list[str], given: Path, taken: Path, before: Callable[[], object]) -> None:
    """Run in the fork, and exit."""
    code = 70
    try:
        for fd, file, flags in ((0, given, os.O_RDONLY), (1, taken, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
            opened = os.open(file, flags, 0o600)
            os.dup2(opened, fd)
            os.close(opened)
        sys.stdin, sys.stdout = os.fdopen(0, "r", closefd=False), os.fdopen(1, "w", closefd=False)
        sys.argv = ["nexus-mcp", *words]
        resource.setrlimit(resource.RLIMIT_CPU, (HANGS_CPU_S, HANGS_CPU_S + 1))
        gc.freeze()  # the garbage collector of the server skips the objects of the tests
        before()
        code = main(words)
        sys.stdout.flush()
    finally:
        os._exit(code)
