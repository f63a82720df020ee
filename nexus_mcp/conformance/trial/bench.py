"""The bench of a fixture with an executor: a folder with a scripted agent, a scripted check and a journal.

The folder is beside the project of the fixture, a repository that gets one commit. The settings of the executor are in
`.nexus/config.yml`, and in environment variables for executors that do not read this file.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.processes import agent
from nexus_mcp.conformance.processes.starting import start
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.conformance.fixture import Fixture

TASKS = (".nexus", "state", "tasks.json")
CONFIG = (".nexus", "config.yml")
HARNESS = "conformance"
VARIABLES = "NEXUS_CONFORMANCE_"
MEETING_S = 60.0
"""Seconds that a session waits for the others that it has to meet."""
_LARGEST = 16 << 20
_WHO = ("-c", "user.name=Conformance", "-c", "user.email=conformance@example.org")


class Bench:
    """The folder `folder` beside the project `project`. `status` is where the executor writes its status file."""

    def __init__(self, project: str) -> None:
        self.project = project
        self.folder = os.path.join(os.path.dirname(project), "bench")
        self.status = os.path.join(self.folder, "status.json")
        self._read = 0

    def lay(self, fixture: Fixture) -> None:
        """Make the bench, write the settings of the executor, and commit the files of the project outside of `.nexus`.

        Raise HarnessFault when git cannot be started, OSError when git fails or a file cannot be written.
        """
        for name in ("", "counts", "state"):
            os.mkdir(os.path.join(self.folder, name))
        for kind in ("session", "check"):
            path = self._program(kind)
            words = [sys.executable, "-P", agent.__file__, kind, self.folder]
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nexec {shlex.join(words)}\n")
            os.chmod(path, 0o700)
        with open(os.path.join(self.project, ".nexus", ".gitignore"), "w", encoding="utf-8") as file:
            file.write("*\n")
        with open(os.path.join(self.project, *CONFIG), "w", encoding="utf-8") as file:
            json.dump({"run": self._settings(fixture)}, file)
        self._git("add", "--all")
        self._git(*_WHO, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", "The project")

    def environment(self, fixture: Fixture) -> dict[str, str]:
        """Return the variables for the executor."""
        settings = fixture.executor
        return {
            "XDG_STATE_HOME": os.path.join(self.folder, "state"),
            "GIT_AUTHOR_NAME": "Conformance",
            "GIT_AUTHOR_EMAIL": "conformance@example.org",
            "GIT_COMMITTER_NAME": "Conformance",
            "GIT_COMMITTER_EMAIL": "conformance@example.org",
            f"{VARIABLES}AGENT": self._program("session"),
            f"{VARIABLES}CHECK": self._program("check"),
            f"{VARIABLES}DONE": agent.DONE,
            f"{VARIABLES}ATTEMPTS": str(settings.get("attempts", 1)),
            f"{VARIABLES}JOBS": str(settings.get("jobs", 1)),
            f"{VARIABLES}WORKTREES": os.path.join(self.folder, "worktrees"),
        }

    def tell(self, fixture: Fixture, command: list[str], environment: Mapping[str, str]) -> None:
        """Write bench.json, which the scripted agent and the scripted check read."""
        titles = {str(row.get("id")): str(row.get("title")) for row in self.tasks()}
        value = {
            "project": self.project,
            "status": self.status,
            "agents": fixture.executor.get("agents", {}),
            "titles": titles,
            "meeting_s": MEETING_S,
            "command": command,
            "environment": dict(environment),
        }
        with open(os.path.join(self.folder, "bench.json"), "w", encoding="utf-8") as file:
            json.dump(value, file)

    def began(self, pid: int) -> None:
        """Note the process of the executor, for agents that send it a signal."""
        path = os.path.join(self.folder, "executor.pid")
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(str(pid))
        os.replace(f"{path}.new", path)

    def forget(self) -> None:
        """Remove the note of an executor that ended."""
        path = os.path.join(self.folder, "executor.pid")
        if os.path.exists(path):
            os.unlink(path)

    def tasks(self) -> list[dict[str, Any]]:
        """Return the tasks of the project, [] if they cannot be read."""
        value = load(os.path.join(self.project, *TASKS))
        rows = value.get("tasks") if isinstance(value, dict) else None
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    def journal(self) -> list[dict[str, Any]]:
        """Return every entry of the journal."""
        try:
            with open(os.path.join(self.folder, "journal.jsonl"), "rb") as file:
                lines = file.read(_LARGEST).splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def new_entries(self) -> list[dict[str, Any]]:
        """Return the entries since the last call."""
        found = self.journal()[self._read :]
        self._read += len(found)
        return found

    def _settings(self, fixture: Fixture) -> dict[str, Any]:
        settings = fixture.executor
        driver = {"command": [self._program("session")], "format": "text", "done": f"^{agent.DONE}$"}
        return {
            "harness": HARNESS,
            "drivers": {HARNESS: driver},
            "checks": {"test": self._program("check")},
            "review": {},
            "jobs": settings.get("jobs", 1),
            "tiers": [{"tier": "standard", "attempts": settings.get("attempts", 1)}],
            "mend": 0,
            "worktrees": os.path.join(self.folder, "worktrees"),
        }

    def _program(self, kind: str) -> str:
        return os.path.join(self.folder, kind)

    def _git(self, *words: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ = {**kept, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        try:
            process = start(
                ["git", "-c", f"core.hooksPath={os.devnull}", *words],
                cwd=self.project,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            problem = f"A fixture with an executor needs git: it could not be started: {error.strerror}."
            raise HarnessFault([problem], next_step="Install git, or leave --run-command out.") from error
        _, err = process.communicate()
        if process.returncode:
            raise OSError(process.returncode, f"git {words[0]} failed: {err.decode(errors='replace').strip()[:200]}")


def load(path: str) -> Any:
    """Return the JSON value of a file, None if it cannot be read, has more than _LARGEST bytes, or is not JSON."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
