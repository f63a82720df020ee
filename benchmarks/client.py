"""A raw client for every server: JSON lines over pipes. The times do not include the parsing in this client.

Times are in milliseconds. If a server stops answering, ends or refuses a request, the client raises NotMeasurable.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
PATIENCE = 300.0  # maximum seconds for one answer
_CHUNK = 1 << 16  # bytes in a pipe
_SMALL = 1 << 16  # maximum bytes of a line that may be a notification of the server


class NotMeasurable(Exception):
    """Something needed for the measurement is missing; the message says what."""


class Connection:
    """A server as a child process. `begun` is the moment just before it was spawned.

    A line of more than `small` bytes counts as the answer without being parsed.
    """

    def __init__(
        self,
        command: Sequence[str],
        project: str | Path,
        extra: Mapping[str, str] | None = None,
        stderr: int = subprocess.DEVNULL,
    ) -> None:
        environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project), "PYTHONPATH": str(ROOT), **(extra or {})}
        self.name = " ".join(command)
        self.small = _SMALL
        self._rest = b""
        self._number = 0
        self.begun = time.perf_counter()
        self.child = subprocess.Popen(
            command,
            cwd=project,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.write_to, self.read_from = self.child.stdin.fileno(), self.child.stdout.fileno()

    def handshake(self) -> tuple[float, list[str]]:
        """Return (milliseconds from spawn to the answer of tools/list, the names in it)."""
        self.introduce()
        _, line = self.ask("tools/list", {})
        milliseconds = (time.perf_counter() - self.begun) * 1000
        return milliseconds, [tool["name"] for tool in json.loads(line)["result"]["tools"]]

    def introduce(self) -> dict[str, Any]:
        """Make the handshake, and return the result of initialize."""
        _, line = self.ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})
        result = json.loads(line).get("result")
        return result if isinstance(result, dict) else {}

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[float, bytes]:
        """Return (milliseconds from the first byte written to the last byte read, the line of the answer)."""
        message = self.request(method, params)
        begun = time.perf_counter()
        self._write(message)
        while True:
            line = self._read_line()
            milliseconds = (time.perf_counter() - begun) * 1000
            if len(line) > self.small or json.loads(line).get("id") == self._number:
                return milliseconds, line

    def request(self, method: str, params: Mapping[str, Any]) -> bytes:
        """Return the line of the next request."""
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _send(self, message: Mapping[str, Any]) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.write_to, view) :]
            except OSError as error:
                raise NotMeasurable(f"{self.name} takes no request: {error.strerror}") from error

    def _read_line(self) -> bytes:
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            if not select.select([self.read_from], [], [], PATIENCE)[0]:
                raise NotMeasurable(f"{self.name} did not answer within {PATIENCE:.0f} seconds")
            chunk = os.read(self.read_from, _CHUNK)
            if not chunk:
                raise NotMeasurable(f"{self.name} ended without an answer")
            chunks.append(chunk)
        last, _, self._rest = chunks[-1].partition(b"\n")
        chunks[-1] = last
        return b"".join(chunks)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.close()
        if kind is not None:
            self.child.kill()
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()


def payload(line: bytes) -> dict[str, Any]:
    """Return the structured content of a tools/call, or its text as JSON; {"error": message} for a refusal."""
    answer = json.loads(line)
    if "result" not in answer:
        return {"error": str(answer.get("error"))}
    result = answer["result"]
    texts = [block.get("text", "") for block in result.get("content", ())]
    if result.get("isError"):
        return {"error": " ".join(texts)}
    content = result.get("structuredContent")
    if content is None:
        content = json.loads(texts[0])
    assert isinstance(content, dict)
    return content
