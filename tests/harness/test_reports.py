"""`nexus-mcp install --list` and `--check`: what they report, and about which files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from nexus_mcp.harness import load
from nexus_mcp.harness.status import find_version
from tests.harness.test_install import NAMES, put, run
from tests.support import Project


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project, which is the working directory."""
    monkeypatch.chdir(project.root)
    return project.root


@pytest.mark.parametrize("name", NAMES)
def test_list_shows_the_installed_parts(at: Path, capfdbinary: pytest.CaptureFixture[bytes], name: str) -> None:
    """--list shows the parts of each scope, and whether the server answers."""
    assert run("install", name, "--with", "server,hooks") == 0
    capfdbinary.readouterr()
    assert run("install", name, "--list", "--json") == 0
    (found,) = json.loads(capfdbinary.readouterr().out)["harnesses"]
    assert found["scopes"]["project"]["parts"] == ["server", "hooks"]
    assert found["scopes"]["project"]["answers"] is True
    skipped = [notice for notice in found["scopes"]["project"]["notices"] if "trusts 0 of 9 hooks" in notice]
    assert len(skipped) == (name == "codex")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_of_another", [False, True], ids=["read-only", "of-another-user"])
def test_reports_need_no_permission_to_write(
    at: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    name: str,
    is_of_another: bool,
) -> None:
    """--check and --list judge files that cannot be replaced, as in a CI job; install and uninstall name them."""
    assert run("install", name) == 0
    if is_of_another:
        monkeypatch.setattr(os, "geteuid", lambda: at.stat().st_uid + 1)
    else:
        for path in at.rglob("*"):
            if path.is_file() and "state" not in path.parts:
                path.chmod(0o444)
    assert run("install", name, "--check") == 0
    capfdbinary.readouterr()
    assert run("install", name, "--list", "--json") == 0
    (found,) = json.loads(capfdbinary.readouterr().out)["harnesses"]
    assert len(found["scopes"]["project"]["parts"]) == 4
    assert not [one for one in found["scopes"]["project"]["notices"] if "Codex" not in one]
    assert run("uninstall", name) == 1
    assert run("install", name, "--gate", "warn") == 1
    assert ("another user" if is_of_another else "is read-only").encode() in capfdbinary.readouterr().err


def test_list_names_a_server_that_hides_the_installed_one(
    at: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """`claude mcp add` writes into a file that wins over .mcp.json: its server may lack the options of ours."""
    server = {"command": "nexus-mcp", "args": ["serve"]}
    settings = {"projects": {str(at): {"mcpServers": {"nexus": server}}}}
    put(tmp_path / "home", {".claude.json": json.dumps(settings).encode()})
    assert run("install", "claude-code") == 0
    capfdbinary.readouterr()
    assert run("install", "claude-code", "--list") == 0
    assert b"Claude Code starts that one: run claude mcp remove nexus -s local." in capfdbinary.readouterr().out


def test_slow_program_is_not_called_broken(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the first start of a client takes seconds; then only its version is unknown."""
    program = at / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    def take_long(words: list[str], timeout: float, **_options: object) -> None:
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(subprocess, "run", take_long)
    assert find_version(load("claude-code"), str(at)) == "of an unknown version"
