"""`generated.json` and configurations of a cloned project cannot make nexus-mcp start a program."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from nexus_mcp.program import is_own_program, own_command
from tests.harness.test_install import run
from tests.support import Project

ENTRY = {".mcp.json": {"/mcpServers/nexus": {"hash": "sha256:0", "part": "server", "owner": "claude-code"}}}


def clone(project: Project, command: str, *words: str) -> None:
    """Write the record of another person's installation, and its server."""
    installed = {"claude-code": {"nexus_mcp": "0.1.0", "options": {"--command": command}}}
    record = {"version": 1, "installed": installed, "files": {}, "entries": ENTRY, "made": {}, "folders": []}
    project.put("generated.json", record)
    value = {"mcpServers": {"nexus": {"command": command, "args": [*words]}}}
    (project.root / ".mcp.json").write_text(json.dumps(value))


def test_list_starts_no_foreign_program(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`install --list` names a program that only resembles our server, and does not start it."""
    monkeypatch.chdir(project.root)
    sign = project.root / "started"
    clone(project, sys.executable, "-c", f"open({str(sign)!r}, 'w')", "nexus-mcp", "serve")
    assert run("install", "claude-code", "--list") == 0
    assert "The server was not started" in capsys.readouterr().out
    assert not sign.exists()


def test_recorded_command_is_not_taken_unseen(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recorded --command that is no nexus-mcp is refused until the user names it."""
    monkeypatch.chdir(project.root)
    clone(project, "sh", "serve")
    before = (project.root / ".mcp.json").read_bytes()
    assert run("install", "claude-code", "--force") == 2
    assert "names the command sh" in capsys.readouterr().err
    assert (project.root / ".mcp.json").read_bytes() == before
    assert run("install", "claude-code", "--force", "--command", "sh") == 0


def test_program_inside_of_the_project_is_not_ours(project: Project, tmp_path: Path) -> None:
    """This installation, a bare `nexus-mcp` and one outside of the project are ours; no other program is."""
    root = str(project.root)
    for folder in (project.root, tmp_path / "elsewhere"):
        folder.mkdir(exist_ok=True)
        (folder / "nexus-mcp").write_text("#!/bin/sh\n")
        (folder / "nexus-mcp").chmod(0o755)
    assert is_own_program(own_command()[0], root)
    assert is_own_program("nexus-mcp", root)
    assert is_own_program(str(tmp_path / "elsewhere" / "nexus-mcp"), root)
    for word in (str(project.root / "nexus-mcp"), "./nexus-mcp", "sh", sys.executable + "x"):
        assert not is_own_program(word, root)
