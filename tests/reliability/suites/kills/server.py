"""One nexus-mcp server on two pipes of its own: forked from this process, or started as a program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.server.call_queue import CallQueue
from nexus_mcp.server.stdio import serve
from nexus_mcp.workspace import Workspace
from tests.reliability.suite import Json
from tests.reliability.suites import children
from tests.reliability.suites.kills.client_records import HELLO

_CHECKOUT = Path(__file__).resolve().parents[4]
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "proof", "version": "1"}}


class _UnderWay:
    """Tell whether a call of this server process has begun and was not answered yet."""

    def __init__(self) -> None:
        self._is = False

    def __call__(self) -> bool:
        return self._is

    def watch(self) -> None:
        """Start to watch the calls of this process."""
        real = CallQueue.carry_out

        def carry_out(calls: CallQueue) -> None:
            self._is = True
            try:
                real(calls)
            finally:
                self._is = False

        setattr(CallQueue, "carry_out", carry_out)  # noqa: B010 - mypy refuses to assign a method


call_under_way = _UnderWay()


class Server:
    """A running server of the project at `root`.

    `hook` runs in a forked server before it serves; the descriptors `keep` stay open there. `program`: the server is
    started by its command, with `mutant` planted; a fork has the faults that are planted in this process.
    """

    def __init__(
        self,
        root: Path,
        *,
        hook: Callable[[], None] | None = None,
        keep: Sequence[int] = (),
        program: bool = False,
        mutant: str = "",
    ) -> None:
        reads, self._in = os.pipe()
        self.out, writes = os.pipe()
        self._popen: subprocess.Popen[bytes] | None = None
        if program:
            self._popen = _program(root, mutant, reads, writes)
            self.pid = self._popen.pid
        else:

            def run() -> None:
                os.dup2(reads, 0)
                os.dup2(writes, 1)
                os.close(reads)
                os.close(writes)
                if hook is not None:
                    hook()
                call_under_way.watch()
                serve(App(Workspace(str(root))))

            self.pid = children.start(run, (reads, writes, *keep))
        os.close(reads)
        os.close(writes)
        os.set_blocking(self.out, False)
        self._buffer = b""
        self._input_open = True
        self._send({"jsonrpc": "2.0", "id": HELLO, "method": "initialize", "params": _HELLO})

    def call(self, number: int, tool: str, arguments: dict[str, Json]) -> None:
        """Send a call with the id `number`."""
        params = {"name": tool, "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def receive(self) -> tuple[list[Json], bool]:
        """Return (the complete answers received, whether the output has ended). Do not wait."""
        ended = False
        while not ended:
            try:
                chunk = os.read(self.out, 1 << 16)
            except BlockingIOError:
                break
            self._buffer += chunk
            ended = not chunk
        *lines, self._buffer = self._buffer.split(b"\n")
        return [json.loads(line) for line in lines], ended

    def end_input(self) -> None:
        """Close the input: no call will follow."""
        if self._input_open:
            os.close(self._in)
            self._input_open = False

    def end(self, *, kill: bool) -> tuple[list[Json], bool]:
        """Kill the server, or wait for its end, and close the pipes.

        Return (the unread answers, whether SIGKILL ended it).
        """
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        code = children.wait(self.pid) if self._popen is None else self._popen.wait()
        answers, _ = self.receive()
        self.end_input()
        os.close(self.out)
        return answers, code == -signal.SIGKILL

    def _send(self, message: Json) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._in, data) :]
        except BrokenPipeError:
            return  # the server is dead: `receive` reports it


def _program(root: Path, mutant: str, reads: int, writes: int) -> subprocess.Popen[bytes]:
    module = ["tests.reliability.faulty_server", mutant] if mutant else ["nexus_mcp"]
    paths = [path for path in (os.environ.get("PYTHONPATH"), str(_CHECKOUT)) if path]
    return subprocess.Popen(
        [sys.executable, "-m", *module, "serve", "--project", str(root)],
        stdin=reads,
        stdout=writes,
        stderr=subprocess.DEVNULL,
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
