"""Run work that may never end in helper processes, because a thread cannot be stopped.

Such work is to match a regular expression, or to check a value against a JSON schema. A helper runs a script of this
package that reads one JSON request a line from stdin and writes one JSON response a line to stdout. Each helper bounds
its own computing time, and its own memory where the system supports it.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from nexus_mcp.conformance import stopping
from nexus_mcp.conformance.failures import TargetFailure, first_line
from nexus_mcp.conformance.processes.starting import start
from nexus_mcp.errors import HarnessFault

MOST_S = 10.0
"""The longest computing time in seconds, for the patterns of one run of a fixture or for the check of one answer."""
LEAST_S = 1.0
"""The least limit of this time in seconds: even with a short --timeout, simple patterns and valid answers must pass."""
_REPORT = "Run it again; if it happens again, please report it."
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
_SLICE_MS = 50
_CHUNK = 1 << 16
_START_S = 60.0
budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
"""The budget of the running fixture; without one, each match has MOST_S."""


class TooSlow(Exception):
    """The helper did not respond in time: it used all of its computing time, or took too long by the clock."""


class HelperEnded(Exception):
    """The helper ended unexpectedly. `code` is its exit code, negative for a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Helpers:
    """The helper processes of one command.

    After a response a helper stays for the next request. When a request fails, its helper ends. All end with this
    process.

    May be used from several threads at once: each request has a helper of its own.
    """

    def __init__(self, *command: str) -> None:
        self.command = command
        self.idle: list[_Helper] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def request(self, payload: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return its response.

        `seconds` bounds the computing time of the helper, which does not depend on the load of the machine. Raise
        TooSlow, HelperEnded, RunHalted, RecursionError for a request that is nested too deeply, and HarnessFault when
        this system has no process, file or memory left for a helper.
        """
        line = json.dumps({**payload, "seconds": seconds}).encode() + b"\n"
        helper = self.idle.pop() if self.idle else _Helper(self.command)
        try:
            answer = helper.exchange(line, seconds)
        except BaseException:
            helper.end()
            raise
        self.idle.append(helper)
        return answer

    def _forget(self) -> None:
        """Forget the helpers in a forked process: parent and child would read each other's answers."""
        for helper in self.idle:
            helper.abandon()
        self.idle = []


_patterns = Helpers(_WORKER, "patterns")


_schemas = Helpers(_WORKER, "schemas")


class MatchFailed(Exception):
    """The pattern could not be matched; the message continues a sentence that begins with "the pattern"."""


class Budget:
    """The computing time left for the patterns of one run of a fixture."""

    def __init__(self, seconds: float) -> None:
        self.seconds = min(MOST_S, max(LEAST_S, seconds))
        self.left = self.seconds


@functools.cache
def find_fault(pattern: str) -> str:
    """Return the fault of a pattern, "" when it can be used. Raise HarnessFault and RunHalted."""
    try:
        return str(_match({"pattern": pattern}, MOST_S)["fault"])
    except TooSlow:
        return f"it takes more than {MOST_S:g} s to compile"


def search(pattern: str, text: str) -> bool:
    """Return whether `pattern` matches anywhere in `text`, as `re.search` does.

    Raise MatchFailed, HarnessFault and RunHalted.
    """
    ours = budget.get() or Budget(MOST_S)
    if ours.left <= 0:
        raise MatchFailed(f"was not matched: earlier patterns of this fixture took more than {ours.seconds:g} s")
    try:
        answer = _match({"pattern": pattern, "text": text}, ours.left)
    except TooSlow:
        ours.left = 0
        raise MatchFailed(f"takes more than {ours.seconds:g} s to match") from None
    ours.left -= answer["took"]
    if answer["fault"]:
        raise MatchFailed(f"cannot be matched: {answer['fault']}")
    return bool(answer["found"])


def schema_fault(tool: str, schema: Any, value: Any, seconds: float) -> str:
    """Return where an answer of `tool` breaks `schema`, or why the schema cannot be used; "" if the answer matches.

    The check may take as long as a call, `seconds`, but at least LEAST_S and at most MOST_S. Raise TargetFailure when
    it takes too long or the answer is nested too deeply, HarnessFault when the helper fails, and RunHalted.
    """
    limit = min(MOST_S, max(LEAST_S, seconds))
    try:
        # The helper caches validators by the text of the schema.
        answer = _schemas.request({"schema": json.dumps(schema), "value": value}, limit)
    except RecursionError:
        raise TargetFailure(f"sent a result for {tool} that is nested too deeply to check") from None
    except TooSlow:
        raise TargetFailure(
            f"has an output schema for {tool} that takes more than {limit:g} s to check one answer"
        ) from None
    except HelperEnded as ended:
        raise HarnessFault(
            [
                f"Whether an answer of {tool} matches its output schema could not be checked: the process that checks "
                f"it ended unexpectedly, with code {ended.code}."
            ],
            next_step=_REPORT,
        ) from None
    return first_line(answer["fault"])


class _Helper:
    def __init__(self, command: tuple[str, ...]) -> None:
        self._process = start(
            [sys.executable, "-P", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
        self._rest = b""
        self._is_ready = False
        atexit.register(self.end)

    def exchange(self, line: bytes, seconds: float) -> dict[str, Any]:
        if not self._is_ready:
            self._read(_START_S)  # imports must not count as computing time
            self._is_ready = True
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            unsent = memoryview(line)
            while unsent:
                stopping.check()
                unsent = unsent[self._process.stdin.write(unsent[:_CHUNK]) :]
        # On a busy machine computing time passes more slowly than the clock.
        response: dict[str, Any] = json.loads(self._read(4 * seconds + 10))
        return response

    def end(self) -> None:
        """Kill the process. A second call does nothing."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        self._close_pipes()

    def abandon(self) -> None:
        """Close our ends of the pipes and leave the process running."""
        atexit.unregister(self.end)
        self._process.returncode = 0  # after a fork the process is not our child
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, seconds: float) -> bytes:
        """Return the next line. Raise TooSlow, HelperEnded, RunHalted."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        deadline = time.monotonic() + seconds
        found = [self._rest]
        while b"\n" not in found[-1]:
            stopping.check()
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


def _match(request: dict[str, str], seconds: float) -> dict[str, Any]:
    try:
        return _patterns.request(request, seconds)
    except HelperEnded as ended:
        problem = f"A pattern could not be matched: the process that matches it ended unexpectedly, with {ended}."
        raise HarnessFault([problem], next_step=_REPORT) from None
