"""Conversations with a server on a thread of this process, or in a process of its own."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import threading
from pathlib import Path

from nexus_mcp.server import stdio
from nexus_mcp.server.app import App

ROOT = Path(__file__).resolve().parents[4]
_PATIENCE = 60.0  # seconds without an answer that is due: the server hangs
_CHUNK = 1 << 16
_TAIL = 1 << 20  # bytes in which the last answers of a batch are searched


class Hung(Exception):
    """No response came for a long time. The text has the last sent lines."""


def converse(app: App, data: bytes) -> list[bytes]:
    """Send `data` to a server on a thread of this process, end its input, and return its lines.

    Raise Hung, and RuntimeError when the server did not end normally.
    """
    reads, to_server = os.pipe()
    from_server, writes = os.pipe()
    ended: list[object] = []

    def serve() -> None:
        try:
            ended.append(stdio.serve(app, reads, writes))
        except BaseException as error:  # noqa: BLE001 - every early end of the server is a failure
            ended.append(error)
        finally:
            os.close(reads)
            os.close(writes)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        out = _exchange(to_server, from_server, data, None)
    finally:
        os.close(from_server)
    server.join(_PATIENCE)
    if ended != [0]:
        raise RuntimeError(f"the server ended with {ended}")
    return _lines(out)


class Process:
    """`nexus-mcp serve` over `project`, with a planted fault or none, in a `with` block."""

    def __init__(self, project: Path, mutant: str) -> None:
        project.mkdir(exist_ok=True)
        command = ["nexus_mcp"] if not mutant else ["tests.reliability.faulty_server", mutant]
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        self._child = subprocess.Popen(
            [sys.executable, "-m", *command, "serve", "--project", str(project), "--log-level", "error"],
            stdin=reads,
            stdout=writes,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        os.close(reads)
        os.close(writes)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()
        for fd in (self._to, self._from):
            if fd >= 0:
                os.close(fd)

    def ask(self, lines: list[bytes], last: list[bytes]) -> list[bytes]:
        """Send these lines, and return the answers up to those that contain the texts in `last`."""
        return _lines(_exchange(self._to, self._from, b"".join(line + b"\n" for line in lines), last))

    def peak(self) -> float:
        """Return the peak memory of the process in MB. getrusage is not used: it counts the forking process, too."""
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    def end(self, data: bytes) -> list[bytes]:
        """Send `data`, end the input, and return the answers. Raise RuntimeError when the exit code is not 0."""
        to, self._to = self._to, -1
        out = _exchange(to, self._from, data, None)
        code = self._child.wait(_PATIENCE)
        if code != 0:
            raise RuntimeError(f"the server ended with {code}")
        return _lines(out)


def _exchange(to: int, from_: int, data: bytes, last: list[bytes] | None) -> bytearray:
    """Write `data` while reading up to the lines with `last`; if `last` is None, close `to` and read to the end."""
    rest, out = memoryview(data), bytearray()
    os.set_blocking(to, False)
    poll = select.poll()
    poll.register(from_, select.POLLIN)
    poll.register(to, select.POLLOUT)
    while True:
        ready = dict(poll.poll(_PATIENCE * 1000))
        if not ready:
            raise Hung(f"no answer for {_PATIENCE:g} s; not read yet: {bytes(rest[:300])!r}; answered: {out[-300:]!r}")
        if to in ready:
            try:
                rest = rest[os.write(to, rest[:_CHUNK]) :]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                rest = rest[len(rest) :]
            if not rest:
                poll.unregister(to)
                if last is None:
                    os.close(to)
        if from_ in ready:
            chunk = os.read(from_, _CHUNK)
            out += chunk
            if not chunk or (last and chunk.endswith(b"\n") and all(text in out[-_TAIL:] for text in last)):
                return out


def _lines(out: bytearray) -> list[bytes]:
    """Split the output into lines. A truncated last line stays, and is no valid answer."""
    return bytes(out).removesuffix(b"\n").split(b"\n") if out else []
