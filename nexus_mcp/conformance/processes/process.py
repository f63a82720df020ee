"""Run a process of a target over pipes: write lines, read lines within bounds, and describe each fault.

No deadlock with the process is possible: writing never blocks, and both outputs are always read.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from nexus_mcp.conformance.document import count_values, string_size
from nexus_mcp.conformance.limits import LINE, PRINTED, PRINTED_LEAST, PRINTED_MOST, VALUES
from nexus_mcp.conformance.processes import killing
from nexus_mcp.conformance.processes.killing import Death
from nexus_mcp.conformance.processes.starting import start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_CHUNK = 1 << 18
_LINGER, _POLL = 0.5, 0.01
"""Seconds that a process may live after it closed its stdin or stdout, and seconds between two polls."""
_MUTE = "closed its stdout, but went on running"
_PIPE_CHUNK = 1 << 16
KEPT = 8 * 1024
"""Bytes that a Tail keeps."""


class ServerProcess:
    """A running process of a target: a server, an event command or an executor.

    `on_line` gets each line of stdout without its end; `on_end` is called once, when no more lines will come. `fault`
    is then the fault, or ""; a requested end is no fault. `death` describes the end of the process, unless `kill` ended
    it. `end_signal` is for a process that does not end when its stdin closes: `end` sends it. Lives in one event loop.
    Raises OSError when the command cannot be started, HarnessFault when this system has no process, file or memory
    left.
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
        end_signal: int | None = None,
    ) -> None:
        self.fault = ""
        self.ended = False
        self._end_signal = end_signal
        self._family = killing.Family(environment[killing.MARK])
        self._allowance = allowance
        self._on_line = on_line
        self._on_end = on_end
        self._end_requested = False
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
        killing.add_server(self._popen.pid)
        stdin, stdout, stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: PT018 - Popen was called with pipes
        self._feed = Feed(stdin, lambda: self._handle_closed_pipe("closed its stdin, but went on running"))
        self._stdout, self._error = stdout.fileno(), stderr.fileno()
        self._open = {self._stdout: stdout, self._error: stderr}
        for fd in self._open:
            os.set_blocking(fd, False)
        self._loop.add_reader(self._stdout, self._read_stdout)
        self._loop.add_reader(self._error, self._read_stderr)
        self.death = Death(self._popen, self._handle_death)

    @property
    def pid(self) -> int:
        """Return its pid, which is also that of its session and its process group."""
        return self._popen.pid

    @property
    def unfinished_line(self) -> bytes:
        """Return its stdout after the last line end."""
        return bytes(self._incoming)

    @property
    def stdout_is_open(self) -> bool:
        """Return whether its stdout is open, so that more lines may come."""
        return self._stdout in self._open

    @property
    def stderr(self) -> str:
        """Return the end of its stderr."""
        return self._stderr.text

    def send(self, line: bytes) -> None:
        """Write a line, including its line end, as soon as the process takes it. Drop it if its stdin is closed."""
        self._allowance.count_sent()
        self._feed.send(line)

    def close_input(self) -> None:
        """Close its stdin as soon as everything is written; from now on its end is not a fault."""
        self._end_requested = True
        self._feed.finish()

    def fail(self, fault: str) -> None:
        """Kill it because of `fault`, and ignore its later output.

        Do nothing if it has a fault already, or if no more lines will come.
        """
        if self.ended or self.fault:
            return
        self.fault = fault
        self._finish(drain=False)
        self.kill()

    def expect_end(self) -> None:
        """Treat its end as no fault from now on."""
        self._end_requested = True

    def kill(self) -> None:
        """Kill it and its family, as `Family.kill` does. Earlier output still counts."""
        self._end_requested = True
        if not self._reaped:
            self._family.kill(self.pid)
            self._finish(drain=True)
            self._reap()

    def release(self) -> None:
        """Forget the process, which has ended; processes that it started continue."""
        self._end_requested = True
        if not self._reaped:
            self._finish(drain=True)
            self._reap()

    async def end(self, seconds: float) -> str:
        """Close its stdin, send the end signal if there is one, and wait until the process and its family have ended.

        `seconds` bounds the wait; after it, kill what still runs. Return the fault of this end. Return "" if there is
        none, or if `fault` has one already.
        """
        if self.fault or self._reaped:
            self.kill()
            return ""
        self._end_requested = True
        deadline = self._loop.time() + seconds
        try:
            self._family.living(self.pid)
            if not (self._read_stdout() or self.stdout_is_open or self.death.is_dead):
                await self.death.wait(_LINGER)
                if not self.death.is_dead:
                    return _MUTE
            self._feed.close()
            if self._end_signal is not None and not self.death.is_dead:
                os.kill(self.pid, self._end_signal)
            await self.death.wait(seconds)
            if self.fault:
                return ""
            if not self.death.is_dead:
                after = "its stdin was closed" if self._end_signal is None else "a signal that ends servers"
                return f"did not end within {seconds:g} s after {after}"
            while left := self._family.living(self.pid):
                if self._loop.time() > deadline:
                    return f"ended, but processes that it started still run: {killing.format_names(left)}"
                await asyncio.sleep(_POLL)
            self._finish(drain=True)
            self._reap()
        finally:
            self.kill()
        return ""

    def _read_stdout(self) -> bool:
        """Read the available bytes; return whether more may be available at once."""
        data = self._read(self._stdout)
        if data is None:
            return False
        if not data:
            self._handle_closed_pipe(_MUTE)
            return False
        *lines, rest = data.split(b"\n")
        longest = max(len(self._incoming) + len(lines[0]), *map(len, lines)) if lines else 0
        partial = len(rest) if lines else len(self._incoming) + len(rest)
        self._allowance.count_printed(len(data), len(lines), max(longest, partial))
        if self._fail_if_over_allowance():
            return False
        for line in lines:
            whole = bytes(self._incoming) + line
            self._incoming.clear()
            if self.ended:
                return False
            self._allowance.count_parsed(whole)
            if not self._fail_if_over_allowance():
                self._on_line(whole)
        self._incoming += rest
        return True

    def _read_stderr(self) -> bool:
        data = self._read(self._error)
        if not data:
            return False
        self._stderr.add(data)
        self._allowance.count_printed(len(data), 0, 0)
        return not self._fail_if_over_allowance()

    def _read(self, fd: int) -> bytes | None:
        """Return the available bytes; b"" when the pipe ends now; None when there are none, or when it ended before."""
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

    def _fail_if_over_allowance(self) -> bool:
        if self._allowance.complaint:
            self.fail(self._allowance.complaint)
        return bool(self._allowance.complaint)

    def _handle_closed_pipe(self, fault: str) -> None:
        """Handle a closed pipe. Most often the process is about to end, and its exit code is the better report."""

        def report() -> None:
            if not self._end_requested and not self.death.is_dead:
                self.fail(fault)

        self._loop.call_later(_LINGER, report)

    def _handle_death(self) -> None:
        if not self.fault and not self._end_requested:
            self.fault = self.death.description
        self._finish(drain=True)

    def _finish(self, *, drain: bool) -> None:
        """Report the end of the lines; with `drain`, deliver the lines that are still in the pipe first."""
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
        killing.remove_server(self.pid)
        self._feed.close()
        for fd in tuple(self._open):
            self._close(fd)

    def _close(self, fd: int) -> None:
        if pipe := self._open.pop(fd, None):
            self._loop.remove_reader(fd)
            pipe.close()


class Allowance:
    """The bounds on the output of the processes of one fixture; `complaint` names the exceeded bound, or is "".

    `unrequested` is the maximum number of lines beyond one for each request. `at_once` is how many fixtures run at
    once: they share the memory of one process.
    """

    def __init__(self, unrequested: int = 5000, at_once: int = 1) -> None:
        self.complaint = ""
        self._total = min(PRINTED_MOST, max(PRINTED_LEAST, PRINTED // at_once))
        self._line = min(LINE, self._total)
        self._left = self._total
        self._weight_left = self._total
        self._values_left = VALUES
        self._unrequested = unrequested
        self._unrequested_left = unrequested

    def count_sent(self) -> None:
        """Count a message to the process: the process may print one more line in reply."""
        self._unrequested_left += 1

    def count_printed(self, size: int, lines: int, partial: int) -> None:
        """Count `size` more bytes with `lines` line ends. The longest line, perhaps unfinished, has `partial` bytes."""
        self._left -= size
        self._unrequested_left -= lines
        if partial > self._line:
            self.complaint = f"flooded: it printed a line of more than {self._line >> 20} MiB"
        elif self._left < 0:
            self._complain_of_total()
        elif self._unrequested_left < 0:
            self.complaint = f"flooded: it printed more than {self._unrequested} unrequested lines"

    def count_parsed(self, line: bytes) -> None:
        """Count a line that is about to be parsed, which may make it many times as large."""
        self._weight_left -= string_size(line)
        self._values_left -= count_values(line, self._values_left)
        if self._weight_left < 0:
            self._complain_of_total()
        elif self._values_left < 0:
            self.complaint = f"flooded: it printed more than {VALUES:,} JSON values"

    def _complain_of_total(self) -> None:
        self.complaint = f"flooded: it printed more than {self._total >> 20} MiB"


class Feed:
    """The writing end of a pipe. It never waits, and buffers bytes that the reader does not take yet.

    When a write fails because the reader has closed its end, this end closes, too, and calls `on_broken`.
    """

    def __init__(self, pipe: IO[bytes], on_broken: Callable[[], None]) -> None:
        self._pipe = pipe
        self._on_broken = on_broken
        self._waiting = bytearray()
        self._ends = False
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)

    def send(self, data: bytes) -> None:
        """Write `data` as soon as the reader takes it; dropped when the pipe is closed."""
        if not self._pipe.closed:
            self._waiting += data
            self._write()

    def finish(self) -> None:
        """Close the pipe as soon as everything is written."""
        self._ends = True
        if not self._pipe.closed:
            self._write()

    def close(self) -> None:
        """Close the pipe and drop the buffer."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()

    def _write(self) -> None:
        fd = self._pipe.fileno()
        try:
            while self._waiting:
                del self._waiting[: os.write(fd, self._waiting[:_PIPE_CHUNK])]
        except BlockingIOError:
            self._loop.add_writer(fd, self._write)
            return
        except OSError:
            self.close()
            self._on_broken()
            return
        self._loop.remove_writer(fd)
        if self._ends:
            self.close()


class Tail:
    """The last KEPT bytes of a stream of any length, and the number of earlier ones."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self._kept += data
        self._cut += max(0, len(self._kept) - KEPT)
        del self._kept[:-KEPT]

    @property
    def text(self) -> str:
        """Return the last bytes as a text. If there were earlier ones, the text begins with their number."""
        text = self._kept.decode("utf-8", "replace")
        return f"… ({self._cut:,} bytes before this)\n{text}" if self._cut else text
