"""Whether a value keeps a schema that a target gave, found out in a limited time."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import subprocess
import sys
from typing import Any

from nexus_mcp.conformance.processes.starting import start
from nexus_mcp.conformance.trouble import TargetTrouble, first_line
from nexus_mcp.errors import HarnessFault

MOST = 10.0
"""Seconds of computing for one answer, so that neither a busy machine nor a limit of the user's makes a verdict."""

_SCRIPT = os.path.join(os.path.dirname(__file__), "schema_worker.py")
_idle: list[subprocess.Popen[bytes]] = []
"""Workers that wait for something to do, whoever asks: a start of one takes longer than a hundred answers. They end
with this process, for then their stdin does."""


async def schema_fault(tool: str, schema: Any, value: Any) -> str:
    """Where an answer of `tool` breaks `schema`, or why that is none; "" when all is well.

    Raises TargetTrouble when the answer or the schema is such that nobody could tell, HarnessFault when we cannot.
    """
    try:
        request = json.dumps({"schema": json.dumps(schema), "value": value, "seconds": MOST}).encode() + b"\n"
    except RecursionError:
        raise TargetTrouble(f"answered {tool} with what is nested too deep to be checked") from None
    worker = _idle.pop() if _idle else _started()
    try:
        answer = await asyncio.to_thread(_exchange, worker, request)
    except BaseException:
        _discard(worker)
        raise
    if answer:
        _idle.append(worker)
        return first_line(json.loads(answer))
    _discard(worker)
    if worker.returncode == -signal.SIGPROF:
        raise TargetTrouble(f"has an output schema for {tool} that takes more than {MOST:g} s to check one answer")
    raise HarnessFault(
        [
            f"Whether an answer of {tool} keeps its output schema could not be found out: the process that checks it "
            f"ended by itself, with code {worker.returncode}."
        ],
        next_step="Run it again; if it stays so, please report it.",
    )


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", _SCRIPT]
    worker = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/")
    atexit.register(_discard, worker)
    return worker


def _exchange(worker: subprocess.Popen[bytes], request: bytes) -> bytes:
    """The line that answers, b"" when the worker ended instead."""
    assert worker.stdin is not None and worker.stdout is not None  # noqa: PT018 - pipes were asked for
    if not hasattr(worker, "ready"):
        worker.ready = worker.stdout.readline()  # type: ignore[attr-defined]
    try:
        worker.stdin.write(request)
        worker.stdin.flush()
    except OSError:
        return b""
    return worker.stdout.readline()


def _discard(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            pipe.close()
