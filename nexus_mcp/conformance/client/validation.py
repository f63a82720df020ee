"""Whether a value keeps a schema that a target gave, found out in a limited time."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import subprocess
import sys
from typing import Any

from nexus_mcp.conformance.processes.starting import start
from nexus_mcp.conformance.trouble import first_line

_SCRIPT = os.path.join(os.path.dirname(__file__), "schema_worker.py")
_idle: list[subprocess.Popen[bytes]] = []
"""Workers that wait for something to do, whoever asks: a start of one takes longer than a hundred answers. They end
with this process, for then their stdin does."""


async def schema_fault(schema: Any, value: Any, seconds: float) -> str:
    """Where `value` breaks `schema`, or why that cannot be told within `seconds`; "" when all is well."""
    try:
        request = json.dumps({"schema": json.dumps(schema), "value": value, "seconds": seconds}).encode() + b"\n"
    except RecursionError:
        return "the answer is nested too deep to be checked"
    worker = _idle.pop() if _idle else _started()
    try:
        answer = await asyncio.to_thread(_exchange, worker, request)
    except BaseException:
        _discard(worker)
        raise
    if not answer:
        _discard(worker)
        return f"the schema could not be checked within {seconds:g} s"
    _idle.append(worker)
    return first_line(json.loads(answer))


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
