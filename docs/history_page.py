"""Write the output of the commands on docs/history.md, from a run on the project of its examples: `make docs`.

Each block of text that begins with `$ nexus-mcp` is such a run, in a pipe. tests/pages compares the page.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cli import example_history

PAGE = Path(__file__).with_name("history.md")
_BLOCK = re.compile(r"^```text\n\$ nexus-mcp (.*)\n(?:.*\n)*?```$", re.MULTILINE)
_CHECKOUT = Path(__file__).resolve().parent.parent


def page(text: str) -> str:
    """Return the page with the outputs of today."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "notes")
        (root / ".git").mkdir(parents=True)
        example_history.write(root)
        return _BLOCK.sub(lambda found: f"```text\n$ nexus-mcp {found[1]}\n{_output(found[1], root)}```", text)


def _output(line: str, root: Path) -> str:
    done = subprocess.run(  # noqa: S603 - commands on our own page
        [sys.executable, "-m", "nexus_mcp", *shlex.split(line)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(_CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
