"""Files that the user edited after an installation: refusals, copies with --force, and when a copy is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.harness import files
from tests.harness.test_install import failing_write, put, run, tree
from tests.support import Project


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project, which is the working directory."""
    monkeypatch.chdir(project.root)
    return project.root


@pytest.mark.parametrize("path", [".claude/agents/tester.md", ".mcp.json", ".claude/settings.json"])
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_edit_by_hand_stops_the_installation(
    at: Path, capsys: pytest.CaptureFixture[str], path: str, verb: str
) -> None:
    """An edited file gives exit code 3 and no change; with --force it is replaced, and a copy is kept."""
    assert run("install", "claude-code") == 0
    file = at / path
    file.write_bytes(
        file.read_bytes().replace(b"serve", b"serve2").replace(b"# Tester", b"# T").replace(b": 10", b": 11")
    )
    before = tree(at)
    capsys.readouterr()
    assert run(verb, "claude-code") == 3
    assert "edited by hand" in capsys.readouterr().err
    assert tree(at) == before
    assert run("install", "claude-code", "--check") == 1
    assert run(verb, "claude-code", "--force") == 0
    copies = [one for one in (at / ".nexus/state/install/edited").iterdir() if one.name != ".gitignore"]
    assert [one.read_bytes() for one in copies] == [before[path]]
    assert run("uninstall", "claude-code") == 0
    assert tree(at) == {}


def test_copy_of_an_edited_file_goes_if_the_file_has_its_bytes(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Uninstall deletes a copy that equals a restored file, and names every other copy."""
    mine = b'{"mcpServers": {"nexus": {"command": "mine"}}}'
    put(at, {".mcp.json": mine})
    assert run("install", "claude-code", "--force") == 0
    agent = at / ".claude/agents/tester.md"
    agent.write_bytes(agent.read_bytes() + b"More.\n")
    edited = agent.read_bytes()
    assert run("install", "claude-code", "--force") == 0
    folder = at / ".nexus/state/install/edited"
    assert len([*folder.iterdir()]) == 2
    capsys.readouterr()
    assert run("uninstall", "claude-code") == 0
    assert (at / ".mcp.json").read_bytes() == mine
    (copy,) = folder.iterdir()
    assert copy.read_bytes() == edited
    assert f"kept       {copy}: a copy of a file with edits by hand" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_failed_command_leaves_no_copy_of_an_edited_file(
    at: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The edited file is restored, so its copy is deleted: it may hold credentials."""
    assert run("install", "claude-code") == 0
    agent = at / ".claude/agents/tester.md"
    agent.write_bytes(edited := agent.read_bytes() + b"More.\n")
    vault = at / ".nexus/state/install"
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    for number in range(40):
        with monkeypatch.context() as patch:
            patch.setattr(files, "write", failing_write([], number, OSError(28, "No space left on device")))
            code = run(verb, "claude-code", "--force")
        if code == 0:
            break
        assert agent.read_bytes() == edited
        assert {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()} == before
    assert number > 0
    assert code == 0
    assert [copy.read_bytes() for copy in vault.rglob("*-tester.md")] == [edited]
