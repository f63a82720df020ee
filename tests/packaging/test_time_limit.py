"""The time limit that ends a hanging test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
HANGING = "import threading\n\n\ndef test_it():\n    threading.Event().wait()\n"


def test_a_hang_ends_the_run(tmp_path: Path) -> None:
    """A test that hangs ends the run with a failure and the place where it hung."""
    (tmp_path / "test_hanging.py").write_text(HANGING)
    pytest = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", CHECKOUT / "pyproject.toml")
    done = subprocess.run(
        [*pytest, "--rootdir", tmp_path, "-o", "faulthandler_timeout=0.5", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "Timeout (0:00:00.5" in done.stderr
    assert 'test_hanging.py", line 5 in test_it' in done.stderr
