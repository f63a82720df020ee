"""Run a client with a time limit, and kill all its processes afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

MARK = "NEXUS_E2E_RUN"
"""The variable with the id of the run, by which its processes are found."""
NOWHERE = "http://127.0.0.1:9"
"""A proxy that does not exist: with it a client reaches loopback only, even without a network namespace."""


@dataclass(frozen=True)
class Done:
    """The end of a client: exit code, negative for a signal, and output."""

    code: int
    out: str
    err: str


class Running:
    """A client that was started, in a session of its own."""

    def __init__(
        self, words: Sequence[str | Path], env: Mapping[str, str], folder: Path, *, is_spoken_to: bool = False
    ) -> None:
        self._mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [str(word) for word in words],
            env={**closed_network(), **env, "PWD": str(folder), MARK: self._mark},
            cwd=folder,
            stdin=subprocess.PIPE if is_spoken_to else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait(self, seconds: float) -> Done:
        """Wait for the end of the client, and return it. Raise AssertionError after `seconds`, with the output."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"not done after {seconds} s: {out[-2000:]}\n{err[-2000:]}") from None
        finally:
            self.kill()
        return Done(self.process.returncode, out, err)

    def say(self, text: str) -> None:
        """Write a line to its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """Kill the client and every process that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for process in self.left():
            with suppress(psutil.Error):
                process.kill()

    def left(self) -> list[psutil.Process]:
        """Return the running processes of this run, including the client."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return bool(process.environ().get(MARK) == self._mark)
        except (psutil.Error, OSError):
            return False


def closed_network() -> dict[str, str]:
    """Return variables that direct all traffic except loopback to a proxy that does not exist."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    found = dict.fromkeys((*names, *map(str.lower, names)), NOWHERE)
    return {**found, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
