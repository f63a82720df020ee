"""An installation whose files cannot be restored after an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files
from tests.support import Project


@pytest.mark.parametrize(
    ("error", "problem"),
    [(InstallRefused(["The disk is full."]), "The disk is full."), (None, "was changed by another program meanwhile.")],
)
def test_files_that_are_not_restored_are_named(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: InstallRefused | None,
    problem: str,
) -> None:
    """The message says what failed and which file is left changed; it does not say that nothing was changed."""
    monkeypatch.chdir(project.root)
    write, written = files.write, list[str]()

    def fails_at_the_second(found: files.FoundFile, data: bytes | None) -> None:
        if found.path in written or (written and error is None):
            raise files.Interference(found.path)
        if written and error is not None:
            raise error
        write(found, data)
        written.append(found.path)

    monkeypatch.setattr(files, "write", fails_at_the_second)
    assert main(["install", "claude-code"]) == 1
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith(problem)
    assert rest == [f"nexus-mcp: {written[0]} could not be restored after an error: look at it."]
    assert Path(written[0]).exists()
