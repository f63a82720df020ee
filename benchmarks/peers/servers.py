"""The tables SERVERS and CONTEXT: how each server is started and called."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT, Connection, NotMeasurable, payload
from benchmarks.figures import BUN, NODE, OURS, SDK
from benchmarks.peers.packages import PACKAGES, find, installed, upstream

# Arguments that upstream requires beyond the contract: an owner in its own form, and force to close unfinished tasks.
UPSTREAM_EXTRA: dict[str, dict[str, Any]] = {"task_add": {"owner": {"role": "engineer"}}, "task_close": {"force": True}}


@dataclass(frozen=True)
class Server:
    """A command line, and the arguments of calls beyond the contract. `tools` is false for other products."""

    name: str
    command: tuple[str, ...]
    prefix: str = ""
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tools: bool = True

    def start(self, project: str | Path) -> Session:
        return Session(self, Connection(self.command, project))


@dataclass
class Session:
    """A running server, which is called with the names and arguments of the contract."""

    server: Server
    connection: Connection

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *told: Any) -> None:
        self.connection.__exit__(*told)

    @property
    def pid(self) -> int:
        return self.connection.child.pid

    def ready(self) -> float:
        """Return the milliseconds from spawn to tools/list."""
        return self.connection.handshake()[0]

    def call(self, tool: str, **arguments: Any) -> tuple[float, dict[str, Any]]:
        """Return (milliseconds, the answer in the form of client.payload)."""
        milliseconds, line = self.connection.ask("tools/call", self.params(tool, arguments))
        return milliseconds, payload(line)

    def params(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "name": f"{self.server.prefix}{tool}",
            "arguments": {**arguments, **self.server.extra.get(tool, {})},
        }


def _ours(*options: str) -> tuple[str, ...]:
    """Return the command that a client mounts: the console script of this environment, with compiled bytecode."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "nexus_mcp")], check=True)
    return (*script(), "serve", *options)


def script() -> tuple[str, ...]:
    """Return the command of the console script, or of the module if there is no script."""
    path = Path(sysconfig.get_path("scripts")) / "nexus-mcp"
    return (str(path),) if path.exists() else (sys.executable, "-m", "nexus_mcp")


SERVERS: dict[str, Callable[[], Server]] = {
    OURS: lambda: Server(OURS, _ours()),
    NODE: lambda: Server(NODE, (find("node"), str(upstream())), "nx_", UPSTREAM_EXTRA),
    BUN: lambda: Server(BUN, (str(installed(PACKAGES["bun"])), str(upstream())), "nx_", UPSTREAM_EXTRA),
}
CONTEXT: dict[str, Callable[[], Server]] = {
    SDK: lambda: Server(SDK, _ours("--sdk")),
    "task-master-ai": lambda: _other("task-master-ai", find("node")),
    "backlog.md": lambda: _other("backlog.md", "", "mcp", "start"),
    "server-memory": lambda: _other("server-memory", find("node")),
}


def _other(name: str, interpreter: str, *options: str) -> Server:
    command = (*([interpreter] if interpreter else []), str(installed(PACKAGES[name])), *options)
    return Server(name, command, tools=False)


def available(table: Mapping[str, Callable[[], Server]]) -> tuple[list[Server], list[str]]:
    """Return (the servers that can be started, a line with the reason for each other server)."""
    found, missing = [], []
    for name, make in table.items():
        try:
            found.append(make())
        except (NotMeasurable, OSError, subprocess.SubprocessError) as error:
            missing.append(f"{name} is not measured: {error}")
    return found, missing
