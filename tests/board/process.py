"""A board as a process of its own, as a user starts it."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
from typing import TYPE_CHECKING

from tests.cli.support import COMMAND, LIMIT, environment

if TYPE_CHECKING:
    from pathlib import Path


class Board:
    """A running board: its process, its port and its token."""

    def __init__(self, *words: str, cwd: Path, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "board", "--port", "0", *words],
            cwd=cwd,
            env={**environment(), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        match = None
        while match is None:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            match = re.search(r"http://127\.0\.0\.1:(\d+)/#(\S+)$", line.strip())
        self.port, self.token = int(match[1]), match[2]
        self._open: list[http.client.HTTPConnection] = []

    def end(self, number: int = signal.SIGKILL) -> tuple[str, str]:
        """Send the signal and return (stdout, stderr) once the process ended."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LIMIT)
        for connection in self._open:
            connection.close()
        return out, err

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> http.client.HTTPResponse:
        """Send a request; the answer's body is not read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        self._open.append(connection)
        connection.request(method, path, body or None, {"Origin": f"http://127.0.0.1:{self.port}", **headers})
        return connection.getresponse()

    def cookie(self) -> str:
        answer = self.ask("POST", "/session", self.token)
        answer.read()
        return answer.headers["set-cookie"].partition(";")[0]
