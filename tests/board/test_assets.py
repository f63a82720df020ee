"""The vendored libraries: the table names them all, and they are the files that were checked in."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.board.render import ASSETS

VENDOR = Path(ASSETS) / "vendor"
DIGESTS = {
    "dagre.min.js": "4e7993562954bd9adb53992ec4b39ae217bd222d24810891338beb81fac876fe",
    "htmx.min.js": "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
    "hx-csp.min.js": "a7e1e6711ae6c3e50ad300fba7936cbe8d07599cdae313414a179ddd6b26e143",
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""File -> SHA-256. A new version changes this row and the one of VENDORED.md."""


def test_every_vendored_file_is_in_the_table() -> None:
    """VENDORED.md has a row for each file with a version and a licence that is beside it, and no other row."""
    rows = re.findall(
        r"^\| `([\w.-]+)` \| (.+?) \| ([\d.]+) \| \w+, `(\w+\.LICENSE)` \|$", (VENDOR / "VENDORED.md").read_text(), re.M
    )
    assert {row[0] for row in rows} == set(DIGESTS)
    assert {path.name for path in VENDOR.iterdir()} == {*DIGESTS, "VENDORED.md", *(row[3] for row in rows)}


@pytest.mark.parametrize("name", DIGESTS)
def test_vendored_files_are_unchanged(name: str) -> None:
    """No vendored file was edited by hand."""
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == DIGESTS[name]


def test_no_page_names_another_host() -> None:
    """Templates, our scripts and styles load nothing by an absolute address; SVG names its namespace only."""
    own = [*Path(ASSETS).glob("*.*"), *(Path(ASSETS).parent / "templates").iterdir()]
    for path in own:
        found = set(re.findall(r"https?://[^\s\"'<>)]+", path.read_text(encoding="utf-8")))
        assert found <= {"http://www.w3.org/2000/svg"}, path


def test_other_commands_load_none_of_it() -> None:
    """The start of another command imports neither the board nor its libraries."""
    script = (
        "import sys; from nexus_mcp.cli import main; main(['board', '--help']); main(['doctor', '--project', '/']);"
        "heavy = ('nexus_mcp.board', 'starlette', 'uvicorn', 'jinja2', 'nh3', 'sse_starlette');"
        "print([name for name in heavy if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stdout + ran.stderr
