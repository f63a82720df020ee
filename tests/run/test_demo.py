"""`nexus-mcp run --demo`: three mishaps, each overcome, without any account, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.run.runs import ROOT


def test_demo_overcomes_crash_rejection_and_conflict(tmp_path: Path) -> None:
    """Exit code 0, the tests pass on the branch at the end, and the temporary folder is gone."""
    place = tmp_path / "place"
    place.mkdir()
    environ = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nexus_mcp", "run", "--demo"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for sign in ("signal 9", "verdict of tester: rejected", "merge conflict in", "The tests on main pass"):
        assert sign in done.stdout
    assert list(place.iterdir()) == []
