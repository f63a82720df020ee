"""An installation whose files cannot be restored after an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files
from tests.support import Project


def test_files_that_are_not_restored_are_named(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what failed and which file is left changed; it does not say that nothing was changed."""
    monkeypatch.chdir(project.root)
    write, written = files.write, list[str]()

    def fails_at_the_second(found: files.FoundFile, data: bytes | None) -> None:
        if written:
            raise files.Interference(found.path) if found.path in written else refused
        write(found, data)
        written.append(found.path)

    refused = InstallRefused(["The disk is full."])
    monkeypatch.setattr(files, "write", fails_at_the_second)
    assert main(["install", "claude-code"]) == 1
    error = capsys.readouterr().err
    assert "The disk is full." in error
    assert f"{written[0]} could not be restored after an error: look at it." in error
    assert "Nothing was changed" not in error
    assert Path(written[0]).exists()


def test_a_file_changed_meanwhile_is_named_in_a_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program saved the second file, and the first one could not be restored."""
    monkeypatch.chdir(project.root)
    write, written = files.write, list[str]()

    def fails_at_the_second(found: files.FoundFile, data: bytes | None) -> None:
        if written:
            raise files.Interference(found.path)
        write(found, data)
        written.append(found.path)

    monkeypatch.setattr(files, "write", fails_at_the_second)
    assert main(["install", "claude-code"]) == 1
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.endswith(" was changed by another program meanwhile.")
    assert second == f"nexus-mcp: {written[0]} could not be restored after an error: look at it."
