"""A project outside of the checkout, in which pytest runs with the plug-in."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.support import environment
from tests.forked_commands import warm

SERVER = shlex.join([sys.executable, "-m", "nexus_mcp", "serve"])
HOOK = shlex.join([sys.executable, "-m", "nexus_mcp", "hook", "{type}"])
LIMIT = 120
# The imports of the plug-in for a run, which take a second; test_plugin_does_nothing_without_its_option avoids them.
CLIENT = (
    *("pytest", "_pytest.junitxml", "mcp", "anyio._backends._asyncio", "nexus_mcp.conformance.runner"),
    *("nexus_mcp.conformance.loading", "nexus_mcp.conformance.client.transport"),
)
# The plug-in of Hypothesis is left out, because it would only import Hypothesis.
PLAIN = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-rA")


class Outcome(NamedTuple):
    """The result of a run of pytest: exit code, outcome of each test by node id, and the output."""

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
        """Run pytest with these arguments; if `server` is None, in a process that has imported nothing of the suite."""
        options = [] if server is None else ["--nexus-server", server]
        ran = warm(
            "pytest",
            [*PLAIN, *options, *arguments],
            preload=() if server is None else CLIENT,
            cwd=self.root,
            env=environment({"COLUMNS": "120", "NO_COLOR": "1"}),
            limit=LIMIT,
            joined=True,
        )
        rows = re.findall(r"^(PASSED|FAILED|XFAIL|XPASS|ERROR) (\S+::\S+)", ran.out, re.MULTILINE)
        return Outcome(ran.code, {name: word for word, name in rows}, ran.out)
