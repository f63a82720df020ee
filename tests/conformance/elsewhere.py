"""Another project, whose pytest is run with the plug-in."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.support import CHECKOUT

SERVER = shlex.join([sys.executable, "-m", "nexus_mcp", "serve"])
HOOK = shlex.join([sys.executable, "-m", "nexus_mcp", "hook", "{type}"])
LIMIT = 120


class Outcome(NamedTuple):
    """How a run of pytest ended: exit code, outcome of each test by node id, and all that was printed."""

    code: int
    tests: dict[str, str]
    out: str


class Elsewhere:
    """Another project, with a test of its own and fixtures."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        (root / "test_own.py").write_text("def test_own():\n    assert True\n")

    def put(self, name: str, content: Any) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.root / name).write_text(text)
        return name

    def pytest(self, *arguments: str, server: str | None = SERVER) -> Outcome:
        options = [] if server is None else ["--nexus-server", server]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), "COLUMNS": "120", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        rows = re.findall(r"^(PASSED|FAILED|XFAIL|XPASS|ERROR) (\S+::\S+)", done.stdout, re.MULTILINE)
        return Outcome(done.returncode, {name: word for word, name in rows}, done.stdout)
