"""A server over HTTP in a process of its own: forked from this one, or started as a program."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil

from nexus_mcp.cli import main
from nexus_mcp.server.http import service, tokens
from nexus_mcp.server.http.limits import Limits
from tests.reliability.suites import children

HOST = "proxy.example"
"""The Host header of all requests: the port of the server changes with each start."""
_CHECKOUT = Path(__file__).resolve().parents[4]
_LISTENING = re.compile(rb"Listening on http://127\.0\.0\.1:(\d+)")
_STARTED_S = 60.0


class Site:
    """The projects that a server serves, by name, and its tokens. All files are below `folder`."""

    def __init__(self, folder: Path, projects: int, holders: int) -> None:
        self.folder = folder
        self.roots = {f"p{number}": folder / f"p{number}" for number in range(projects)}
        for root in self.roots.values():
            root.mkdir()
        self.projects_file = folder / "projects.txt"
        self.projects_file.write_text("".join(f"{name}={root}\n" for name, root in self.roots.items()))
        self.tokens_file = folder / "tokens.json"
        self.tokens = [
            tokens.add(str(self.tokens_file), f"t{number}", None, tokens.RIGHTS, "2026-01-01T00:00:00Z")
            for number in range(holders)
        ]
        self.log = folder / "log"
        self.log.touch()

    def words(self) -> list[str]:
        """Return the arguments of the command."""
        options = {"--projects": self.projects_file, "--tokens": self.tokens_file, "--allow-host": HOST}
        listed = [word for pair in options.items() for word in map(str, pair)]
        return ["serve", "--http", "127.0.0.1:0", "--log-level", "debug", *listed]


class HttpServer:
    """A running server of the site. `limits` replaces some of the usual limits in a forked server."""

    def __init__(self, site: Site, *, program: bool = False, mutant: str = "", **limits: float) -> None:
        self._out, writes = os.pipe()
        self._popen: subprocess.Popen[bytes] | None = None
        self._log = site.log
        self.port = 0
        log = os.open(site.log, os.O_WRONLY | os.O_APPEND)
        if program:
            paths = [path for path in (os.environ.get("PYTHONPATH"), str(_CHECKOUT)) if path]
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "tests.reliability.faulty_server", mutant, *site.words()],
                stdin=subprocess.DEVNULL,
                stdout=writes,
                stderr=log,
                cwd=site.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
            self.pid = self._popen.pid
        else:

            def run() -> None:
                asyncio.events._set_running_loop(None)  # that of the parent
                signal.set_wakeup_fd(-1)
                os.dup2(writes, 1)
                os.dup2(log, 2)
                sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - the parent's may be a file
                usual = replace(Limits(), **limits)  # type: ignore[arg-type]
                setattr(service, "Limits", lambda: usual)  # noqa: B010 - mypy refuses to assign a class
                code = main(site.words())
                sys.stdout.flush()
                os._exit(code)

            self.pid = children.start(run, (writes, log))
        os.close(writes)
        os.close(log)

    async def started(self) -> int:
        """Wait until the server listens; return its port. Raise AssertionError if it does not."""
        os.set_blocking(self._out, False)
        seen = b""
        async with asyncio.timeout(_STARTED_S):
            while not (match := _LISTENING.search(seen)):
                try:
                    part = os.read(self._out, 4096)
                except BlockingIOError:
                    await asyncio.sleep(0.01)
                    continue
                assert part, f"the server ended before it listened: {self._log.read_text()[-1500:]}"
                seen += part
        self.port = int(match[1])
        return self.port

    def memory(self) -> int:
        """Return the bytes of memory that the process uses."""
        found: int = psutil.Process(self.pid).memory_info().rss
        return found

    async def end(self, number: int) -> int:
        """Send a signal and wait for the end; return the exit code, or the negative number of the signal."""
        os.kill(self.pid, number)
        wait = self._popen.wait if self._popen is not None else lambda: children.wait(self.pid)
        code = await asyncio.to_thread(wait)
        os.close(self._out)
        return code
