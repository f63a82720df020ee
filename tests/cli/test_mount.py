"""The printed lines that mount this installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.cli import mount


def test_init_prints_the_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed configuration has the absolute path, quoted for the shell, whatever the PATH is."""
    script = str(tmp_path / "my tools" / "nexus-mcp")
    monkeypatch.setattr(mount, "own_command", lambda: [script])
    assert mount.serve_command() == [script, "serve"]
    line = f"claude mcp add nexus -- '{script}' serve --harness-id claude-code --tool-prefix nx_"
    assert mount.claude_command(["--tool-prefix", "nx_"]) == line
