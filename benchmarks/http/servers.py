"""Start the servers over HTTP: ours, and the SDK's own one without a store."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.client import PATIENCE, ROOT, NotMeasurable
from benchmarks.figures import OURS
from benchmarks.goals import BARE_SDK
from benchmarks.http.client import Target
from benchmarks.peers.servers import script

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def ours(project: Path, *options: str) -> Iterator[tuple[Target, int]]:
    """Serve the project on loopback; yield the target with the token of the run, and the process id."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*script(), "serve", "--http", "127.0.0.1:0", "--project", str(project), *options]
        with _process(command, {"XDG_CONFIG_HOME": folder}) as process:
            token = _line(process).removeprefix("Token: ").strip()
            port = int(_line(process).split(":")[2].split("/")[0])
            yield Target(OURS, port, token=token), process.pid


@contextlib.contextmanager
def bare(content: dict[str, Any]) -> Iterator[tuple[Target, int]]:
    """Serve the same table of tools through the SDK alone; each call answers `content`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "content.json")
        file.write_text(json.dumps(content), encoding="utf-8")
        with _process([sys.executable, "-m", "benchmarks.http.bare", str(file)]) as process:
            port = int(_line(process))
            _wait_for(port)
            yield Target(BARE_SDK, port), process.pid


@contextlib.contextmanager
def _process(command: list[str], extra: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(extra or {})}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise NotMeasurable("a server over HTTP did not start")
    return line


def _wait_for(port: int) -> None:
    """Wait until the server listens: the SDK's server prints its port before that. Raise NotMeasurable."""
    for _ in range(int(PATIENCE * 10)):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
            return
        subprocess.run(["sleep", "0.1"], check=True)
    raise NotMeasurable("the SDK's server does not listen")
