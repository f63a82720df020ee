"""A server process and its pipes: lines go in and come out, and whatever goes wrong is told in words.

Nothing in here waits for the process while it waits for us: writing never blocks, and both outputs are always read.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.processes import killing, orphans
from nexus_mcp.conformance.processes.death import Death
from nexus_mcp.conformance.processes.feed import Feed
from nexus_mcp.conformance.processes.starting import start
from nexus_mcp.conformance.processes.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nexus_mcp.conformance.processes.allowance import Allowance

_CHUNK = 1 << 18
_LINGER, _POLL = 0.5, 0.01
"""Seconds that a process has to end after it closed a pipe before that counts as odd, and between two looks."""
_MUTE = "closed its stdout, but went on running"


class ServerProcess:
    """A running process.

    `on_line` gets each line of stdout without its end; `on_end` is called once, when no more lines will come. `fault`
    is then what went wrong, "" when the end was asked for, and `death` how it ended. Lives in one event loop; raises
    OSError when the command cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        cwd: str,
        environment: Mapping[str, str],
        *,
        allowance: Allowance,
        on_line: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self.fault = ""
        self.ended = False
        self._family = killing.Family(environment[killing.MARK])
        self._allowance = allowance
        self._on_line = on_line
        self._on_end = on_end
        self._asked_to_end = False
        self._reaped = False
        self._incoming = bytearray()
        self._stderr = Tail()
        self._loop = asyncio.get_running_loop()
        self._popen = start(
            command,
            cwd=cwd,
            env=dict(environment),
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
            bufsize=0,
            start_new_session=True,
        )
        orphans.started(self._popen.pid)
        stdin, stdout, stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: PT018 - pipes were asked for
        self._feed = Feed(stdin, lambda: self._lost("closed its stdin, but went on running"))
        self._stdout, self._error = stdout.fileno(), stderr.fileno()
        self._open = {self._stdout: stdout, self._error: stderr}
        for fd in self._open:
            os.set_blocking(fd, False)
        self._loop.add_reader(self._stdout, self._read_stdout)
        self._loop.add_reader(self._error, self._read_stderr)
        self.death = Death(self._popen, self._died)

    @property
    def pid(self) -> int:
        """Its number, which is that of its session and its process group too."""
        return self._popen.pid

    @property
    def unfinished(self) -> bytes:
        """What it printed to stdout after the last end of a line."""
        return bytes(self._incoming)

    @property
    def stdout_is_open(self) -> bool:
        """Whether more may come."""
        return self._stdout in self._open

    @property
    def stderr(self) -> str:
        """The end of what it printed to stderr."""
        return self._stderr.text

    def send(self, line: bytes) -> None:
        """Writes a line, which has its end, as soon as the process takes it. A line after the end is dropped."""
        self._allowance.sent()
        self._feed.send(line)

    def close_input(self) -> None:
        """Closes its stdin as soon as all was taken; from now on its end is no fault."""
        self._asked_to_end = True
        self._feed.finish()

    def fail(self, fault: str) -> None:
        """Kills it for what it did; the first fault is the one that is told. Nothing that it printed after counts."""
        if self.ended or self.fault:
            return
        self.fault = fault
        self._finish(drain=False)
        self.kill()

    def expect_end(self) -> None:
        """From now on its end is no fault."""
        self._asked_to_end = True

    def kill(self) -> None:
        """Kills it and what it started, and returns when they are gone. What it had printed before still counts."""
        self._asked_to_end = True
        if not self._reaped:
            self._family.kill(self.pid)
            self._finish(drain=True)
            self._reap()

    async def end(self, seconds: float) -> str:
        """Closes its stdin and waits for it to leave, with its children. Says what was wrong with that, else ""."""
        if self.fault or self._reaped:
            self.kill()
            return ""
        self._asked_to_end = True
        deadline = self._loop.time() + seconds
        try:
            self._family.living(self.pid)
            if not (self._read_stdout() or self.stdout_is_open or self.death.told):
                await self.death.wait(_LINGER)
                if not self.death.told:
                    return _MUTE
            self._feed.close()
            await self.death.wait(seconds)
            if self.fault:
                return ""
            if not self.death.told:
                return f"did not end within {seconds:g} s after its stdin was closed"
            while left := self._family.living(self.pid):
                if self._loop.time() > deadline:
                    return f"ended, but left running what it had started: {killing.names(left)}"
                await asyncio.sleep(_POLL)
            self._finish(drain=True)
            self._reap()
        finally:
            self.kill()
        return ""

    def _read_stdout(self) -> bool:
        """Takes what is there; True when more may be there at once."""
        data = self._read(self._stdout)
        if data is None:
            return False
        if not data:
            self._lost(_MUTE)
            return False
        *lines, rest = data.split(b"\n")
        longest = max(len(self._incoming) + len(lines[0]), *map(len, lines)) if lines else 0
        partial = len(rest) if lines else len(self._incoming) + len(rest)
        self._allowance.printed(len(data), len(lines), max(longest, partial))
        if self._flooded():
            return False
        for line in lines:
            whole = bytes(self._incoming) + line
            self._incoming.clear()
            if self.ended:
                return False
            self._allowance.parsed(whole)
            if not self._flooded():
                self._on_line(whole)
        self._incoming += rest
        return True

    def _read_stderr(self) -> bool:
        data = self._read(self._error)
        if not data:
            return False
        self._stderr.add(data)
        self._allowance.printed(len(data), 0, 0)
        return not self._flooded()

    def _read(self, fd: int) -> bytes | None:
        """None: nothing there now; b"": nothing any more, and the pipe is closed."""
        if fd not in self._open:
            return None
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            self._close(fd)
        return data

    def _flooded(self) -> bool:
        if self._allowance.complaint:
            self.fail(self._allowance.complaint)
        return bool(self._allowance.complaint)

    def _lost(self, fault: str) -> None:
        """A pipe is closed. Most often the process is just about to end, which is then what to tell."""

        def tell() -> None:
            if not self._asked_to_end and not self.death.told:
                self.fail(fault)

        self._loop.call_later(_LINGER, tell)

    def _died(self) -> None:
        if not self.fault and not self._asked_to_end:
            self.fault = self.death.description
        self._finish(drain=True)

    def _finish(self, *, drain: bool) -> None:
        """No more lines after those that are in the pipe."""
        if self.ended:
            return
        while drain and self._read_stdout():
            pass
        while drain and self._read_stderr():
            pass
        if not self.ended:
            self.ended = True
            self._on_end()

    def _reap(self) -> None:
        self._reaped = True
        self.death.end()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_LINGER)
        orphans.reaped(self.pid)
        self._feed.close()
        for fd in tuple(self._open):
            self._close(fd)

    def _close(self, fd: int) -> None:
        if pipe := self._open.pop(fd, None):
            self._loop.remove_reader(fd)
            pipe.close()
