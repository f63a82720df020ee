"""Which words start this installation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nexus_mcp.cli import mount


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """An executable called nexus-mcp, in a folder with a blank in its name."""
    folder = tmp_path / "my tools"
    folder.mkdir()
    path = folder / "nexus-mcp"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_script_that_runs(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The running script is mounted by its absolute path, quoted for the shell."""
    monkeypatch.chdir(script.parent)
    monkeypatch.setattr(sys, "argv", ["./nexus-mcp"])
    assert mount.serve_command() == [str(script), "serve"]
    line = f"claude mcp add nexus -- '{script}' serve --harness-id claude-code --tool-prefix nx_"
    assert mount.claude_command(["--tool-prefix", "nx_"]) == line


def test_the_script_beside_the_interpreter(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started as a module, the script of the same environment is mounted."""
    monkeypatch.setattr(sys, "argv", ["/x/nexus_mcp/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(script.parent / "python"))
    assert mount.serve_command() == [str(script), "serve"]


def test_no_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any script the interpreter is mounted with the module."""
    python = str(tmp_path / "python")
    monkeypatch.setattr(sys, "argv", ["/x/nexus_mcp/__main__.py"])
    monkeypatch.setattr(sys, "executable", python)
    assert mount.serve_command() == [python, "-m", "nexus_mcp", "serve"]
