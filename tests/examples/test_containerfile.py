"""The Containerfile: its lines are compared with the checkout; no image is built here."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.cli.support import parse_line
from tests.conftest import CHECKOUT
from tests.examples.jobs import PAGE

TEXT = (CHECKOUT / "Containerfile").read_text(encoding="utf-8")
LINES = [line.split(maxsplit=1) for line in TEXT.splitlines() if line and not line.startswith("#")]
INSTRUCTIONS = {"ARG", "FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT"}


def names(folder: Path, out: Path) -> list[str]:
    """Build the wheel of a folder, and return the names in it."""
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return sorted(zipfile.ZipFile(wheel).namelist())


def test_instructions_are_known() -> None:
    """Each line begins with an instruction, and the image does not run as root."""
    assert {line[0] for line in LINES} == INSTRUCTIONS
    kinds = [line[0] for line in LINES]
    assert kinds.index("USER") < kinds.index("ENTRYPOINT")
    assert kinds.index("USER") > max(at for at, kind in enumerate(kinds) if kind == "RUN")


def test_the_copied_files_make_the_whole_wheel(tmp_path: Path) -> None:
    """What COPY takes into the image builds the same wheel as the checkout."""
    copied = tmp_path / "src"
    for kind, rest in LINES:
        if kind != "COPY":
            continue
        *sources, target = rest.split()
        into = copied / target.removeprefix("/src/")
        for source in sources:
            if (CHECKOUT / source).is_dir():
                shutil.copytree(CHECKOUT / source, into, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                into.mkdir(parents=True, exist_ok=True)
                shutil.copy2(CHECKOUT / source, into)
    assert names(copied, tmp_path / "a") == names(CHECKOUT, tmp_path / "b")


def test_the_entry_point_is_the_command() -> None:
    """The image starts `nexus-mcp conformance run`, and the words after its name on the page are options of it."""
    entry = json.loads(next(rest for kind, rest in LINES if kind == "ENTRYPOINT"))
    assert entry == ["nexus-mcp", "conformance", "run"]
    (line,) = re.findall(r"^podman run .*", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    options = line.partition(" nexus-conformance ")[2]
    assert parse_line(f"{shlex.join(entry)} {options}") is not None
    assert f"#   {line}\n" in TEXT


def test_the_lines_of_the_head_are_those_of_the_page() -> None:
    """The commands in the comment are on the page."""
    page = PAGE.read_text(encoding="utf-8")
    lines = re.findall(r"^#   (podman .*)", TEXT, re.MULTILINE)
    assert len(lines) == 2
    assert all(f"\n{line}\n" in page for line in lines)
    assert "--build-arg PACKAGES=" in page
    assert any(line[0] == "ARG" and line[1].startswith("PACKAGES=") for line in LINES)
