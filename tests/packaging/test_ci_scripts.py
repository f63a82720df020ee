"""The scripts of .ci/ that find a Python and make the environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
VERSION = "{}.{}".format(*sys.version_info[:2])


def script(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


@pytest.fixture
def manager(tmp_path: Path) -> Path:
    """A version manager that keeps this Python, switched off: its stub does not start anything."""
    root = tmp_path / "home of it" / ".pyenv"
    script(root / "shims" / f"python{VERSION}", "exit 127")
    script(root / "versions" / f"{VERSION}.99" / "bin" / "python", f"exec '{sys.executable}' \"$@\"")
    return root


def find(*arguments: str, **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [CHECKOUT / ".ci" / "python", *arguments], env=variables, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [(VERSION,), ()], ids=["exactly", "any"])
def test_python_of_a_version_manager_is_found(manager: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A Python that a version manager keeps is found by HOME, by PYENV_ROOT, and by its stub on PATH alone."""
    empty = str(tmp_path)
    found = (0, f"{sys.executable}\n", "")
    assert find(*arguments, PATH=empty, HOME=str(manager.parent)) == found
    assert find(*arguments, PATH=empty, HOME=empty, PYENV_ROOT=str(manager)) == found
    assert find(*arguments, PATH=f"{empty}:{manager / 'shims'}", HOME=empty) == found
    assert find(*arguments, PATH=str(manager / "shims")) == found


def test_missing_python_is_reported_in_one_line(tmp_path: Path) -> None:
    """Without a Python the script reports that in one line, with and without a HOME."""
    message = "No Python 3.12 that starts and can make environments was found.\n"
    assert find("3.12", PATH=str(tmp_path)) == (1, "", message)
    assert find("3.12", PATH=str(tmp_path), HOME=str(tmp_path)) == (1, "", message)
    code, out, err = find(PATH=str(tmp_path))
    assert (code, out, len(err.splitlines())) == (1, "", 1)


@pytest.mark.parametrize("python", ["exit 1", None], ids=["too-old", "no-python"])
def test_a_foreign_environment_stays(tmp_path: Path, python: str | None) -> None:
    """A foreign folder that cannot be used is refused in one line and stays unchanged."""
    shutil.copytree(CHECKOUT / ".ci", tmp_path / "project" / ".ci")
    folder = tmp_path / "project" / ".venv"
    folder.mkdir()
    (folder / "mine").write_text("x")
    for name in ("requirements-dev.lock", "pyproject.toml"):
        (tmp_path / "project" / name).write_text("")
    if python:
        script(folder / "bin" / "python", python)
    before = sorted(folder.rglob("*"))
    done = subprocess.run([tmp_path / "project" / ".ci" / "environment"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith(".venv was not made by this project and is no environment with Python 3.11 or newer.")
    assert sorted(folder.rglob("*")) == before
