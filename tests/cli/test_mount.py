"""The printed lines that mount this installation."""

from __future__ import annotations

import json
import tomllib
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


@pytest.mark.parametrize("text", ["plain", "ä €", 'a"b\\c', "\x7f\x85\u2028", "\U000e0001 \U0010ffff", "\t\n\x00"])
def test_codex_reads_the_words_of_its_lines(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The lines for Codex are TOML, which has no surrogate pairs; the others are JSON."""
    monkeypatch.setattr(mount, "own_command", lambda: [text])
    (codex,) = [lines for place, lines in mount.snippets() if place.startswith("Codex")]
    assert tomllib.loads(codex)["mcp_servers"]["nexus"]["command"] == text
    (opencode,) = [lines for place, lines in mount.snippets() if place.startswith("OpenCode")]
    assert json.loads(opencode)["mcp"]["nexus"]["command"][0] == text
    assert all(char.isprintable() or char == "\n" for char in codex + opencode)
