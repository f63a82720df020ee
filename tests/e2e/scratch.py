"""A scratch home, and a scratch project: a git repository with one commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("nexus-mcp")
_WAIT_S = 120
_IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")


class Scratch:
    """`root` is the project, `home` the home folder of the user, `more` has further variables of every process."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home of user"
        self.root = folder / "my project"
        self.more: dict[str, str] = {}
        self.home.mkdir()
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.root / "app.py").write_text("print('hello')\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "First")

    @property
    def env(self) -> dict[str, str]:
        """The variables of every process: a PATH with nexus-mcp, and folders in the scratch home."""
        found = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TERM") if name in os.environ}
        path = os.pathsep.join((str(PROGRAM.parent), os.environ["PATH"]))
        return {**found, "HOME": str(self.home), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1", **self.more}

    def git(self, *words: str) -> str:
        """Run git in the project and return its output."""
        done = subprocess.run(
            ["git", *_IDENTITY, *words], cwd=self.root, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def nexus(self, *words: str, env: dict[str, str] | None = None) -> str:
        """Run nexus-mcp in the project and return its output. Raise AssertionError if it fails."""
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.root,
            env={**self.env, **(env or {})},
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def call(self, tool: str, **arguments: Any) -> None:
        """Call a tool of nexus-mcp on the project, as another client does at the same time."""
        from nexus_mcp.server.app import App
        from nexus_mcp.workspace import Workspace

        answer = App(Workspace(str(self.root), "nexus-mcp"), "").call(tool, arguments)
        answer.confirm_delivery()
        assert not answer.result["isError"], answer.result

    def state(self, name: str) -> Any:
        """Return the content of a JSON file below .nexus/, None if it is absent."""
        path = self.root / ".nexus" / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def project_bytes(self) -> dict[str, bytes]:
        """Return path -> bytes of each file of the project, without git's own."""
        return _bytes_below(self.root)

    def home_bytes(self) -> dict[str, bytes]:
        """Return path -> bytes of each file of the home."""
        return _bytes_below(self.home)


def _bytes_below(base: Path) -> dict[str, bytes]:
    files = [path for path in sorted(base.rglob("*")) if path.is_file()]
    named = {path.relative_to(base).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith(".git/")}


def wait_until(condition: Callable[[], bool], seconds: float = _WAIT_S) -> None:
    """Wait until a condition holds. Raise AssertionError if it does not within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{condition} did not hold within {seconds} s"
        time.sleep(0.01)
