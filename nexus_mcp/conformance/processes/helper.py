"""Run helper processes for work that may never end, which no thread can stop.

Matching a regular expression and checking a JSON schema are such work. A helper runs a script of this package that
reads one JSON request a line from stdin and writes one JSON response a line to stdout. It bounds its own computing time
and memory.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from nexus_mcp.conformance import threads
from nexus_mcp.conformance.processes.starting import start

_SLICE_MS = 50
_CHUNK = 1 << 16
_START_S = 60.0


class TooSlow(Exception):
    """The helper used all of its computing time without a response."""


class HelperEnded(Exception):
    """The helper ended unexpectedly. `code` is its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Helpers:
    """The helper processes of one script. They stay for the next request, and end with this process.

    May be used from several threads at once: each request has a helper of its own.
    """

    def __init__(self, script: str) -> None:
        self.script = script
        self.idle: list[_Helper] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def request(self, payload: dict[str, Any], seconds: float) -> Any:
        """Send a request and return its response.

        `seconds` bounds the computing time of the helper, which does not depend on the load of the machine. Raises
        TooSlow, HelperEnded, Halted, RecursionError for a request that is nested too deeply, and HarnessFault when no
        helper can start.
        """
        line = json.dumps({**payload, "seconds": seconds}).encode() + b"\n"
        helper = self.idle.pop() if self.idle else _Helper(self.script)
        try:
            answer = helper.exchange(line, seconds)
        except BaseException:
            helper.end()
            raise
        self.idle.append(helper)
        return answer

    def _forget(self) -> None:
        """Leave the helpers to the process that forked: two processes would read each other's answers."""
        for helper in self.idle:
            helper.abandon()
        self.idle = []


class _Helper:
    def __init__(self, script: str) -> None:
        self._process = start(
            [sys.executable, "-P", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
        self._rest = b""
        self._is_ready = False
        atexit.register(self.end)

    def exchange(self, line: bytes, seconds: float) -> Any:
        if not self._is_ready:
            self._read(_START_S)  # imports must not count as computing time
            self._is_ready = True
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            left = memoryview(line)
            while left:
                threads.check()
                left = left[self._process.stdin.write(left[:_CHUNK]) :]
        # On a busy machine the computing time passes slowly.
        return json.loads(self._read(4 * seconds + 10))

    def end(self) -> None:
        """Kill the process. A second call does nothing."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def abandon(self) -> None:
        """Close our ends of the pipes and leave the process running."""
        atexit.unregister(self.end)
        self._process.returncode = 0  # it is not our child
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, seconds: float) -> bytes:
        """Return the next line. Raises TooSlow, HelperEnded, Halted."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        deadline = time.monotonic() + seconds
        found = [self._rest]
        while b"\n" not in found[-1]:
            threads.check()
            if time.monotonic() > deadline:
                raise TooSlow
            if not poll.poll(_SLICE_MS):
                continue
            chunk = os.read(fd, _CHUNK)
            if not chunk:
                code = self._process.wait()
                raise TooSlow if code == -signal.SIGPROF else HelperEnded(code)
            found.append(chunk)
        line, _, self._rest = b"".join(found).partition(b"\n")
        return line
