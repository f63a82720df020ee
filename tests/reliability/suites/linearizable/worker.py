"""A process that makes its calls in order, and reports their begin and end on a pipe."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.reliability.suite import Json
from tests.reliability.suites import children
from tests.reliability.suites.linearizable.history import Op, compared

Call = tuple[str, dict[str, Json]]
_write = os.write  # the real function, before a fault is planted


class Worker:
    """A forked process with the number `number` that makes `calls` as soon as the pipe `start` ends.

    `hook` runs in it first; the descriptors `keep` stay open there. `lines` are its reports so far.
    """

    def __init__(
        self,
        number: int,
        root: Path,
        calls: Sequence[Call],
        start: int,
        *,
        hook: Callable[[], None] | None = None,
        keep: Sequence[int] = (),
    ) -> None:
        self.number = number
        self.calls = calls
        self.lines: list[Json] = []
        self._rest = b""
        self.out, told = os.pipe()

        def run() -> None:
            os.read(start, 1)
            if hook is not None:
                hook()
            _carry_out(App(Workspace(str(root))), calls, told)

        self.pid = children.start(run, (told, start, *keep))
        os.close(told)

    def listen(self) -> bool:
        """Read the reports of the process, waiting for one; return whether it has ended."""
        chunk = os.read(self.out, 1 << 16)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self.lines += [json.loads(line) for line in lines]
        return not chunk

    def close(self) -> int:
        """Wait until the process has ended and its last report was read; return its exit code, or its signal below
        zero.
        """
        code = children.wait(self.pid)
        while not self.listen():
            pass
        os.close(self.out)
        return code

    def ops(self, *, killed: bool) -> list[Op]:
        """Return the operations of the process."""
        ops = []
        for begun in self.lines[::2]:
            number = begun["begins"]
            tool, arguments = self.calls[number]
            ended = self.lines[2 * number + 1 : 2 * number + 2]
            is_last = killed and len(self.lines) <= 2 * number + 2
            if ended:
                answer = compared(ended[0]["answer"])
                ops.append(Op(self.number, tool, arguments, begun["at"], ended[0]["at"], answer, is_last=is_last))
            else:
                ops.append(Op(self.number, tool, arguments, begun["at"], is_last=is_last))
        return ops


def _carry_out(app: App, calls: Sequence[Call], told: int) -> None:
    for number, (tool, arguments) in enumerate(calls):
        _tell(told, {"begins": number, "at": time.monotonic_ns()})
        answer = app.call(tool, arguments)
        _tell(told, {"at": time.monotonic_ns(), "answer": answer.result["structuredContent"]})
        answer.confirm_delivery()


def _tell(told: int, line: Json) -> None:
    data = json.dumps(line).encode() + b"\n"
    while data:
        data = data[_write(told, data) :]
