"""A server on real pipes: on a thread of this process, or in a process with a remote-controlled tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nexus_mcp.server.stdio import serve
from tests.forked_commands import Started

if TYPE_CHECKING:
    from nexus_mcp.server.app import App

Json = Any
Serve = Callable[["App", int, int], int]

ROOT = Path(__file__).resolve().parents[2]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def line(message: Json) -> bytes:
    """One message as its line. Bytes are lines already."""
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"


def request(id: Json, method: str, params: Json = None) -> Json:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Json = None) -> Json:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def initialize(id: Json = 0, version: str = "2025-11-25") -> Json:
    client = {"name": "test-client", "version": "1"}
    return request(id, "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})


def call(id: Json, tool: str, /, **arguments: Json) -> Json:
    return request(id, "tools/call", {"name": tool, "arguments": arguments})


def modern(id: Json, method: str, **params: Json) -> Json:
    return request(id, method, {"_meta": META, **params})


def error(id: Json, code: int, message: str, **data: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **data}}


class Talk:
    """A server on a thread of this process."""

    def __init__(self, app: App, server: Serve = serve) -> None:
        reads, self._input = os.pipe()
        self._output, writes = os.pipe()
        self._rest = b""
        self.exit_code: int | None = None

        def run() -> None:
            try:
                self.exit_code = server(app, reads, writes)
            finally:
                os.close(reads)
                os.close(writes)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def send(self, *messages: Json) -> None:
        data = memoryview(b"".join(line(message) for message in messages))
        while data:
            data = data[os.write(self._input, data) :]

    def receive(self) -> Json:
        """The next message. None at the end of the output."""
        while b"\n" not in self._rest:
            chunk = os.read(self._output, 65536)
            if not chunk:
                assert self._rest == b"", "a line was cut"
                return None
            self._rest += chunk
        text, self._rest = self._rest.split(b"\n", 1)
        return json.loads(text)

    def ask(self, message: Json) -> Json:
        self.send(message)
        return self.receive()

    def stop_reading(self) -> None:
        os.close(self._output)
        self._output = -1

    def end_input(self) -> None:
        fd, self._input = self._input, -1
        os.close(fd)

    def end(self) -> list[Json]:
        """End the input and return the remaining responses."""
        self.end_input()
        return self.rest()

    def rest(self) -> list[Json]:
        """Return the remaining responses until the server ends."""
        left = []
        while self._output >= 0 and (message := self.receive()) is not None:
            left.append(message)
        self._thread.join(60)
        assert not self._thread.is_alive()
        if self._output >= 0:
            self.stop_reading()
        return left

    def wait(self) -> None:
        """Wait until the server ends, without reading its answers."""
        self._thread.join(60)
        assert not self._thread.is_alive()

    def close(self) -> None:
        for fd in (self._input, self._output):
            if fd >= 0:
                os.close(fd)
        self._input = self._output = -1
        self._thread.join(60)
        assert not self._thread.is_alive()


def exchange(app: App, messages: Iterable[Json], server: Serve = serve) -> list[Json]:
    """All answers to these messages, after which the input ends."""
    talk = Talk(app, server)

    def write() -> None:
        try:
            talk.send(*messages)
        finally:
            talk.end_input()

    # A server may stop reading while the client does not read its answers.
    writer = threading.Thread(target=write)
    writer.start()
    left = talk.rest()
    writer.join()
    return left


class Process:
    """A server in a process of its own, over `tests.wire.fake_server`. Its tool `hold` reports its start and waits.

    That of the SDK is a fork of a process that has imported the SDK: the import takes a second.
    """

    def __init__(self, server: str = "stdio", *words: str) -> None:
        began_read, began_write = os.pipe()
        gate_read, gate_write = os.pipe()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        module = "tests.wire.fake_server"
        self.child: subprocess.Popen[bytes] | Started
        if server == "sdk":
            passed = (began_write, gate_read)
            preload = (module, "nexus_mcp.server.sdk")
            self.child = Started(module, (server, "3", "4", *words), preload=preload, env=environment, passed=passed)
        else:
            self.child = subprocess.Popen(
                [sys.executable, "-m", module, server, str(began_write), str(gate_read), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(began_write, gate_read),
                env=environment,
            )
        os.close(began_write)
        os.close(gate_read)
        self._began, self._gate = began_read, gate_write

    def send(self, *messages: Json) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(b"".join(line(message) for message in messages))
        self.child.stdin.flush()

    def receive(self) -> Json:
        assert self.child.stdout is not None
        text = self.child.stdout.readline()
        return json.loads(text) if text else None

    def wait_until_held(self) -> None:
        assert os.read(self._began, 1) == b"."

    def release(self) -> None:
        os.write(self._gate, b".")

    def wait_until_stopping(self) -> None:
        """Wait until the server's log shows that it has noticed a signal."""
        assert self.child.stderr is not None
        assert b"stopping: " in self.child.stderr.readline()

    def finish(self, *, close_input: bool = True) -> tuple[int, list[Json], str]:
        """Exit code, the answers not read yet, and stderr less the log's remarks."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        assert self.child.stderr is not None
        if close_input:
            self.child.stdin.close()
        out = [] if self.child.stdout.closed else [json.loads(text) for text in self.child.stdout]
        said = self.child.stderr.read().decode().splitlines(keepends=True)
        errors = "".join(text for text in said if not text.startswith("nexus-mcp: info:"))
        code = self.child.wait(60)
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            stream.close()
        os.close(self._began)
        os.close(self._gate)
        return code, out, errors
