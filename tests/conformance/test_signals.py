"""A run that a signal ends leaves no process and no folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conformance.support import NASTY, gone

ROOT = Path(__file__).parents[2]
# The second fixture is still waiting when the signal comes.
SCRIPT = """
import sys
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import stdio
from tests.conformance.support import nasty_fixture
fixtures = [nasty_fixture({"do": "report", "path": sys.argv[1]}, test_id=name) for name in ("a", "b")]
run(fixtures, stdio(sys.argv[2:], TargetOptions(timeout=600, end_timeout=1)), jobs=1)
"""


@pytest.mark.parametrize("stays", [False, True], ids=["leaves", "stays"])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signal_ends_run_and_servers(tmp_path: Path, number: signal.Signals, code: int, stays: bool) -> None:
    """Ctrl-C, a request to end and a closed terminal end a run with everything that its target started."""
    pipe, temporary = tmp_path / "pipe", tmp_path / "temporary"
    os.mkfifo(pipe)
    temporary.mkdir()
    command = [sys.executable, "-c", SCRIPT, str(pipe), *NASTY, *(["stay"] if stays else [])]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    runner = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, cwd=tmp_path)
    pids = [int(word) for word in pipe.read_text().split()]  # returns when the server has written
    assert [psutil.pid_exists(pid) for pid in pids] == [True, True]
    runner.send_signal(number)
    runner.communicate(timeout=60)
    assert (runner.returncode, list(temporary.iterdir())) == (code, [])
    assert [gone(pid) for pid in pids] == [True, True]
