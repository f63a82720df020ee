"""Processes of attempts: start them behind a gate, read their output, end their whole group, and find orphans.

A process waits on a pipe until its start is in the log, and ends if the pipe closes: so no kill of the executor leaves
a process that the log does not name.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Self

import psutil

TERM_WAIT_S = 5.0
MAX_LINE = 16 << 20
"""Maximum bytes of a line of output, to within one _CHUNK; a longer line is truncated."""
_CHUNK = 1 << 16
_LOOK_S = 0.5
_EARLY_S = 0.5
# The gate is stdin. The shell reads one line from it and becomes the command, which gets the rest; without the line the
# shell exits. A shell reads byte by byte, so nothing of the rest is lost. A separate descriptor for the gate would need
# a number that a shell can name. Only a function in the child could set this number, and for that Python would have to
# fork the executor with all its memory.
_GATE = 'IFS= read -r go || exit 125; exec "$@"'


class StartedProcess:
    """A process of an attempt, in a POSIX session and process group of its own. `release` lets it begin."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._is_waiting = True
        self.pid = process.pid
        try:
            self.create_time = psutil.Process(process.pid).create_time()
        except psutil.Error:
            self.create_time = 0.0
        # On Linux create times count from the boot, whose time is known only to the second: all have the same error.
        self._clock_error = time.time() - self.create_time

    @classmethod
    async def start(cls, words: Sequence[str], folder: str, environ: Mapping[str, str]) -> Self:
        """Start `words` in `folder`, waiting at the gate, and return the process. Raise OSError."""
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GATE, "nexus-gate", *words),
            cwd=folder,
            env=dict(environ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_CHUNK,
            start_new_session=True,
        )
        return cls(process)

    def release(self) -> None:
        """Let the process begin: its start is in the log."""
        assert self._process.stdin is not None
        self._is_waiting = False
        self._process.stdin.write(b"\n")

    async def feed(self, data: bytes) -> None:
        """Write `data` to stdin, and close stdin. It is no fault if the process ends or closes stdin before that."""
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError):
            stdin.write(data)
            await stdin.drain()
        stdin.close()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of stdout without their newline, a long line cut to MAX_LINE bytes."""
        assert self._process.stdout is not None
        async for line in _lines(self._process.stdout):
            yield line

    async def errors(self) -> AsyncIterator[bytes]:
        """Yield the lines of stderr, in the same way as `lines`."""
        assert self._process.stderr is not None
        async for line in _lines(self._process.stderr):
            yield line

    @property
    def has_ended(self) -> bool:
        """Return whether the process itself ended; processes that it started may still hold its output open."""
        return self._process.returncode is not None

    def began_within(self, seconds: float) -> bool:
        """Return whether a process that is still alive was started below this process within the last `seconds`.

        A process that began up to _EARLY_S earlier counts, too: the harness may report a tool only after it started the
        tool's process.
        """
        since = time.time() - self._clock_error - seconds - _EARLY_S
        try:
            below = psutil.Process(self.pid).children(recursive=True)
        except psutil.Error:
            return False
        return any(_began(process) >= since for process in below)

    async def wait(self) -> tuple[int | None, int | None]:
        """Return (exit code, signal) once the process ended; one of them is None."""
        while (code := self._process.returncode) is None:
            with suppress(TimeoutError):  # asyncio's own wait may last until the pipes of the process are closed
                await asyncio.wait_for(self._process.wait(), _LOOK_S)
        return (None, -code) if code < 0 else (code, None)

    async def end(self, wait_s: float = TERM_WAIT_S) -> None:
        """End the whole group: SIGTERM, then SIGKILL once the process has ended, after `wait_s` seconds at the latest.

        Processes that left the group stay.
        """
        self._close_gate()
        _signal(self.pid, signal.SIGTERM)
        if not self.has_ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.wait(), wait_s)
        _signal(self.pid, signal.SIGKILL)
        await self.wait()

    def _close_gate(self) -> None:
        """Close the gate: a process that still waits there ends."""
        if self._is_waiting and self._process.stdin is not None:
            self._process.stdin.close()


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of a stream without their newline, a long line cut to MAX_LINE bytes."""
    rest = b""
    is_cut = False
    while chunk := await stream.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not is_cut:
                yield line
            is_cut = False
        if len(rest) > MAX_LINE:
            if not is_cut:
                yield rest[:MAX_LINE]
            is_cut, rest = True, b""
    if rest and not is_cut:
        yield rest


def _began(process: psutil.Process) -> float:
    try:
        return process.create_time() if process.status() != psutil.STATUS_ZOMBIE else 0.0
    except psutil.Error:
        return 0.0


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def is_alive(pid: int, create_time: float) -> bool:
    """Return whether the process with this pid and create time is alive: another one may have got the pid by now."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - create_time) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


async def end_orphan(pid: int, create_time: float, run: str, wait_s: float = TERM_WAIT_S) -> bool:
    """End the group of a process that a dead executor of the run started; return whether one of the group was alive."""
    if not has_left(pid, create_time, run):
        return False
    _signal(pid, signal.SIGTERM)
    waited = 0.0
    while has_left(pid, create_time, run) and waited < wait_s:
        await asyncio.sleep(0.05)
        waited += 0.05
    _signal(pid, signal.SIGKILL)
    return True


def has_left(pid: int, create_time: float, run: str) -> bool:
    """Return whether a process that a run started is alive, or another one of its group."""
    return is_alive(pid, create_time) or _has_members(pid, run)


def _has_members(group: int, run: str) -> bool:
    """Return whether a process of the run is in a process group whose leader may have ended.

    Another group may have got the same id by now, so the environment of the process has to name the run.
    """
    for process in psutil.process_iter() if group else ():
        with suppress(psutil.Error, OSError):
            is_member = os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
            if is_member and process.environ().get("NEXUS_RUN") == run:
                return True
    return False


def works_in(*folders: str) -> bool:
    """Return whether a process of this user has its working directory in or below one of the folders, or was started
    with one of them in NEXUS_WORKTREE.
    """
    variables = [f"\0NEXUS_WORKTREE={folder}\0".encode() for folder in folders]
    inside = tuple(os.path.join(folder, "") for folder in folders)
    if not os.path.isdir("/proc/self"):
        return any(_works_in(process, inside) for process in psutil.process_iter())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.path.join(os.readlink(f"/proc/{pid}/cwd"), "").startswith(inside):
                return True
            environ = b"\0" + _all(f"/proc/{pid}/environ") + b"\0"
            if any(variable in environ for variable in variables):
                return True
        except OSError:  # the process ended, or belongs to another user
            continue
    return False


def _all(path: str) -> bytes:
    """Return the bytes of a file. Raise OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = b""
        while chunk := os.read(fd, _CHUNK):
            found += chunk
        return found
    finally:
        os.close(fd)


def _works_in(process: psutil.Process, inside: Sequence[str]) -> bool:
    try:
        places = (process.cwd(), process.environ().get("NEXUS_WORKTREE", ""))
    except psutil.Error:
        return False
    return any(os.path.join(place, "").startswith(tuple(inside)) for place in places)
