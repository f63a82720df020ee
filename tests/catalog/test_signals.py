"""SIGTERM during the parse of the largest catalog ends hooks and servers before the next request."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import CHECKOUT, LIMIT, environment
from tests.reliability.suite import Tally
from tests.reliability.suites.hostile.folders import LEGAL, SHAPES
from tests.reliability.suites.hostile.project import Ground
from tests.support import compact

# The process signals itself when libyaml has a file of the project: no other moment is sure to be while it is parsed.
CODE = """
import os, signal, sys
from nexus_mcp.catalog import yaml_file
real, parsed = yaml_file.LOADER, [0]
def loader(text):
    parsed[0] += 1
    if parsed[0] == {at}:
        os.kill(os.getpid(), signal.SIGTERM)
    return real(text)
yaml_file.LOADER = loader
from nexus_mcp.cli import main
code = main(sys.argv[1:])
print(parsed[0], file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path, Tally())
    made.lay(LEGAL)
    SHAPES[LEGAL](made, random.Random(1))
    return made


def ended(ground: Ground, at: int, stdin: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE.format(at=at), *words, "--project", str(ground.root)],
        cwd=CHECKOUT,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize("at", [1, 100])
def test_a_hook_ends_at_once(ground: Ground, at: int) -> None:
    """The hook stops parsing, and prints no answer."""
    stdin = compact({"tool": "Edit", "agent_name": "gardener"})
    done = ended(ground, at, stdin, "hook", "pre_tool_use", "--harness-id", "claude-code")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")


@pytest.mark.parametrize("at", [1, 100])
def test_a_server_ends_after_the_request(ground: Ground, at: int) -> None:
    """The request under way is answered, the next one is not begun, though it has arrived."""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "resources/list"},
    ]
    done = ended(ground, at, "".join(compact(line) + "\n" for line in lines))
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]
    assert int(done.stderr.split()[-1]) >= at
